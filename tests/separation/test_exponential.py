"""exp on integers against the standard library's."""

from decimal import Decimal, localcontext

import pytest
from attention_theory.separation.exact import exponential
from hypothesis import given, settings
from hypothesis import strategies as st


@given(st.decimals(-2000, 2000, places=12), st.sampled_from([25, 40, 90, 300]))
@settings(max_examples=60, deadline=None)
def test_it_is_exp(x, digits):
    with localcontext() as context:
        context.prec = digits
        assert abs(exponential(x) / x.exp() - 1) < Decimal(10) ** (1 - digits)


@pytest.mark.parametrize("x, expected", [("0", 1), ("1e-30", 1), ("-1e-30", 1)])
def test_near_zero(x, expected):
    with localcontext() as context:
        context.prec = 25
        assert abs(exponential(Decimal(x)) - expected) < Decimal("1e-24")
