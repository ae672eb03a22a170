"""Marks that Hugging Face's suites carry: pytest's `--strict-markers` wants each by name."""

MARKS = (
    "accelerate_tests",
    "flash_attn_test",
    "flash_attn_3_test",
    "flash_attn_4_test",
    "is_training_test",
    "torch_compile_test",
)


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: set by Hugging Face's suites")
