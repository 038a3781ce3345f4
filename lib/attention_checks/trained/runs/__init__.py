"""The measurements of Part VI; each needs the models (``make models``) and is kept as a record."""
