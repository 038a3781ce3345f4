"""The picture that the reader moves: what it stores, and that it is the same on every run and machine."""

import html
import json
import re

import numpy as np
import pytest
from theorybook.interactive_plot import interactive_plot

ARGUMENTS = {
    "x": [1, 10, 100],
    "curves": {"rate": [[0.1, 0.2, 0.30004], [0.5, float("nan"), 1e-17]], "bound <1>": [1, 1, 1]},
    "parameter": ("n", [5, 50]),
    "alt": 'The "rate" grows.',
    "log": "x",
    "captions": ["it grows", "it falls"],
    "start": 5,
}


def stored(picture):
    return json.loads(html.unescape(re.search(r'data-movable="(.*?)"', picture._repr_html_()).group(1)))


def test_text_and_picture_hold_the_same_rounded_numbers():
    picture = interactive_plot(**ARGUMENTS)
    assert repr(picture).splitlines() == [
        "x: 1 10 100",
        "n = 5: it grows",
        "    rate: 0.1 0.2 0.3",
        "    bound <1>: 1 1 1",
        "n = 50: it falls",
        "    rate: 0.5 - 0",
        "    bound <1>: 1 1 1",
    ]
    data = stored(picture)
    assert data["curves"] == [[[1], [[0.1, 0.2, 0.3], [0.5, None, 0]]], [[0], [[1, 1, 1]]]]
    assert data["sliders"] == [["n", ["5", "50"]]] and data["says"] == [[1], ["it grows", "it falls"]]


def test_what_a_machine_adds_below_the_rounding_changes_nothing():
    noisy = ARGUMENTS | {"curves": {"rate": np.array(ARGUMENTS["curves"]["rate"]) * (1 + 1e-9) + 1e-12, "bound <1>": [1, 1, 1]}}
    assert interactive_plot(**noisy)._repr_html_() == interactive_plot(**ARGUMENTS)._repr_html_()


def test_it_is_one_line_of_valid_html_with_a_labelled_slider_and_names_escaped():
    page = interactive_plot(**ARGUMENTS)._repr_html_()
    key = re.search(r'<figure class="movable" id="(movable-[0-9a-f]{8})"', page).group(1)
    assert f'<label for="{key}-range"' in page and f'<input type="range" id="{key}-range"' in page
    assert "<1>" not in page and 'aria-label="The &quot;rate&quot; grows."' in page
    assert "http" not in page  # nothing is loaded


def test_first_position_is_drawn_without_a_script():
    page = interactive_plot(**ARGUMENTS)._repr_html_()
    path = re.search(r'<path data-curve="0" d="(.*?)"', page).group(1)
    assert re.fullmatch(r"M52\.0,[\d.]+L232\.0,[\d.]+L412\.0,[\d.]+", path)


def test_a_gap_ends_the_line_and_points_are_dots():
    gap = interactive_plot(**ARGUMENTS | {"start": 50})._repr_html_()
    assert re.search(r'data-curve="0" d="M[\d.,]+M[\d.,]+"', gap)
    dots = interactive_plot(**ARGUMENTS | {"points": ["rate"]})._repr_html_()
    assert re.search(r'data-curve="0" d="(M[\d.,]+h0){3}"', dots)


@pytest.mark.parametrize(
    ("low", "high", "log", "labels"),
    [
        (0, 1, False, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-3, 7, False, ["-2", "0", "2", "4", "6"]),
        (0.01, 1000, True, ["10⁻²", "10⁻¹", "10⁰", "10¹", "10²", "10³"]),
        (2, 30, True, ["2", "3", "5", "10", "20", "30"]),
    ],
)
def test_ticks(low, high, log, labels):
    picture = interactive_plot(
        [low or 1, high], {"a": [low or 1, high]}, ("p", [1, 2]), alt="a", log="xy" if log else "", ylim=(low, high)
    )
    assert list(picture.axes[1].ticks().values()) == labels
    if not log:
        assert picture.axes[0].ticks()


def test_a_logarithmic_axis_keeps_digits_of_each_value():
    picture = interactive_plot([1, 2], {"a": [1.2345e-9, 4567.8]}, ("p", ["small", "large"]), alt="a", log="y")
    assert picture.curves["a"].rows == [[1.23e-9, 4570]] and picture.sliders[0].values == ["small", "large"]


def test_a_flat_picture_has_room():
    assert interactive_plot([1, 2], {"a": [3, 3]}, ("p", [1, 2]), alt="a").axes[1].low == 2.5


def test_numbers_of_the_table_have_powers_of_ten_instead_of_e():
    picture = interactive_plot([1, 1e6, 2.5e7], {"a": [1.2345e-9, 45678, 0.0001]}, ("p", [1, 2]), alt="a", log="xy")
    cells = re.findall("<td>(.*?)</td>", picture._repr_html_())
    assert cells == ["1", "1.23 × 10⁻⁹", "10⁶", "45700", "2.5 × 10⁷", "0.0001"]


def test_labels_are_as_people_write_them():
    """In the words that are compared as on the page."""
    picture = interactive_plot(
        [1, 2],
        {"z^8": [[1, 2], [3, 4]], "x^p": [1, 1], "n^-0.3": [1, 1]},
        ("T_4 at n", ["10^3", 2e7]),
        points=["z^8"],
        captions=["above 1e-12", "of 5.5e+03"],
        alt="None.",
    )
    (slider,) = picture.sliders
    assert (slider.name, slider.values) == ("T₄ at n", ["10³", "2 × 10⁷"])
    assert list(picture.curves) == ["z⁸", "x^p", "n^-0.3"] and picture.points == ("z⁸",)
    assert "T₄ at n = 2 × 10⁷: of 5,500" in repr(picture) and "above 10⁻¹²" in picture._repr_html_()


def test_a_zero_has_no_sign():
    assert (
        "<td>-0</td>"
        not in interactive_plot([-0.0, 1.0], {"a": [[-0.0, 1.0], [1.0, 2.0]]}, ("p", [1, 2]), alt="a")._repr_html_()
    )


def test_two_sliders_and_a_curve_that_follows_one_of_them():
    picture = interactive_plot(
        [1, 2],
        {"both": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "first": [[[0, 1]], [[2, 3]]], "none": [9, 9]},
        [("a", [10, 20]), ("b", ["x", "y"])],
        captions=[["1", "2"], ["3", "4"]],
        start=(20, "x"),
        alt="a",
    )
    assert repr(picture).splitlines() == [
        "x: 1 2", "a = 10, b = x: 1", "    both: 1 2", "    first: 0 1", "    none: 9 9", "a = 10, b = y: 2", "    both: 3 4",
        "a = 20, b = x: 3", "    both: 5 6", "    first: 2 3", "a = 20, b = y: 4", "    both: 7 8",
    ]  # fmt: skip
    data = stored(picture)
    assert [steps for steps, _ in data["curves"]] == [[2, 1], [1, 0], [0, 0]] and data["says"] == [[2, 1], ["1", "2", "3", "4"]]
    page = picture._repr_html_()
    assert page.count('type="range"') == 2 and "<td>5</td>" in page and ">3</output>" in page


def test_bars_stand_side_by_side_on_the_lower_end():
    page = interactive_plot(["one", "two"], {"a": [[0, 1], [1, 1]], "b": [1, 1]}, ("p", [1, 2]), alt="a", ylim=(0, 1), start=1)
    (a, b) = re.findall(r'data-curve="\d" d="(.*?)"', page._repr_html_())
    boxes = [tuple(map(float, box)) for box in re.findall(r"M([\d.]+),([\d.]+)V([\d.]+)H([\d.]+)V[\d.]+Z", a + b)]
    (left, foot, top, right), second = boxes[0], boxes[2]
    assert foot == top == 208 and boxes[1][2] == 8 and second[0] == right > left  # of height 0, then 1; b right of a
    assert ">one</text>" in page._repr_html_() and "x: one two" in repr(page)


def test_squares_have_the_area_of_their_entry():
    picture = interactive_plot(
        ["1", "2"], {"1": [[1, 0.25], [0, 1]], "2": [0, 1]}, ("p", [1, 2]), alt="a", hinton=True, start=1
    )
    sides = [
        float(side) for side in re.findall(r"h([\d.]+)v", re.search(r'data-curve="0" d="(.*?)"', picture._repr_html_())[1])
    ]
    assert sides[0] == pytest.approx(2 * sides[1], abs=0.11) and sides[0] > 50
    with pytest.raises(ValueError, match="matrix of numbers >= 0"):
        interactive_plot([1, 2], {"a": [1, 2]}, ("p", [1, 2]), alt="a", hinton=True)
