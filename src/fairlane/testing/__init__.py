"""Assert, in your own test suite, that a policy stays near the exact optimum.

On instances of your own, or on drawn ones::

    from fairlane.testing import assert_within, instances

    @given(instances(max_requests=2))
    def test_my_policy(instance):
        assert_within(my_policy, instance, relative_gap="1/5")

`pytest -p fairlane.testing.pytest_plugin --fairlane-policy my_module:my_policy --fairlane-max-gap 5%` adds one test an
instance of the bundled suite, without a test file.
"""

from __future__ import annotations

from fairlane.testing.assertions import assert_within
from fairlane.testing.strategies import graphs, instances, instances_of, requests, workloads

__all__ = ["assert_within", "graphs", "instances", "instances_of", "requests", "workloads"]
