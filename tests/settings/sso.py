"""Single sign-on whose connections owners of organizations can manage, too."""

SETTINGS = {"sso.enabled": "true", "sso.management": "organizations"}
