"""Part V: how much of the exponential is needed? Weights u(score) / row sum with one knob, in the
settings of Parts I to IV.
"""

from attention_theory.attention import Weights
from attention_theory.exponential.families import power, relu_power, sharp, truncated
from attention_theory.exponential.kernels import limit_kernel_with, seen_dimension
from attention_theory.exponential.space import population_descent_with
from attention_theory.exponential.windows import least_degree
from attention_theory.exponential.words import word_sensitivity_with
from attention_theory.separation.exact import separation_probability
