"""A user in front of a browser: follows redirects, signs in, consents, and approves devices."""

from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from tests.service import NO_TLS, PASSWORD

EMAIL = "ada@example.com"


class User:
    """A user of a running service, with a browser of their own."""

    def __init__(self, origin: str, base_path: str = "") -> None:
        self._service = origin + base_path
        self._browser = httpx.Client(headers={"Origin": origin}, verify=NO_TLS, trust_env=False)
        self.pages: list[str] = []
        """The pages that were shown, in order."""

    def sign_up(self) -> str:
        """Create the user without a session of this browser; return the user id."""
        joined = self._post("/sign-up/email", {"name": "Ada", "email": EMAIL, "password": PASSWORD})
        self._browser.cookies.clear()
        return str(joined["user"]["id"])

    def open(self, url: str) -> str:
        """Go to a URL of the service, do what its pages ask for, and return the URL outside where that ends."""
        while url.startswith(f"{self._service}/"):
            response = self._browser.get(url)
            assert response.is_redirect, f"{url}: {response.status_code} {response.text}"
            url = self._answer(urljoin(url, response.headers["location"]))
        return url

    def _answer(self, url: str) -> str:
        """Fill in the form of a page; return where it leads. Other URLs stay as they are."""
        page = urlsplit(url)
        if not url.startswith(f"{self._service}/account/"):
            return url
        name = page.path.rsplit("/account/")[1]
        self.pages.append(name)
        answers: dict[str, tuple[str, dict[str, Any]]] = {
            "sign-in": ("/sign-in/email", {"email": EMAIL, "password": PASSWORD, "rememberMe": True}),
            "consent": ("/oauth2/consent", {"accept": True}),
        }
        operation, body = answers[name]
        return str(self._post(operation, {**body, "oauth_query": page.query})["url"])

    def approve(self, user_code: str) -> str:
        """Sign in, read what the device with a user code asks for, and approve it; return its name."""
        self.sign_in()
        shown = self._browser.get(f"{self._service}/device", params={"user_code": user_code})
        self._post("/device/approve", {"userCode": user_code})
        return str(shown.raise_for_status().json()["client_name"])

    def refuse(self, user_code: str) -> None:
        """Refuse the device with a user code; the user is signed in."""
        self._post("/device/deny", {"userCode": user_code})

    def sign_in(self) -> None:
        """Sign in."""
        self._post("/sign-in/email", {"email": EMAIL, "password": PASSWORD})

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        response = self._browser.post(self._service + path, json=body)
        assert response.is_success, f"{path}: {response.status_code} {response.text}"
        return response.json()

    def close(self) -> None:
        """Close the browser."""
        self._browser.close()
