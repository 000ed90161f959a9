"""Fixtures that several test folders share."""

pytest_plugins = ["arm_fixtures", "body_fixtures", "browser"]
