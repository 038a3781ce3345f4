"""How much of the exponential? Attention weights u(score) / row sum with one knob, in the four worlds of the book."""

from ..attention import Weights
from ..separation.exact import separation_probability
from .families import power, relu_power, sharp, truncated
from .kernels import limit_kernel, rank
from .space import population_descent
from .windows import least_degree, least_sharpness
from .words import word_sensitivity
