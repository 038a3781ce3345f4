"""The run-time checker of shapes and types in the tests: beartype, taking integers where floats are asked for."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
