"""Part VI: two trained transformers in plain torch, and what the book's theorems say about them.

The models are optional wheels (:mod:`attention_theory.trained.wheels`, ``make models``); without
them the chapters read their records.
"""
