"""In trained models: two real transformers as plain torch, and what the book's theorems say about
them (Part VI).

The models are optional wheels (:mod:`attention_theory.trained.wheels`, ``make models``); without
them the chapters read their records.
"""
