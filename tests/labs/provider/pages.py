"""The page on which a person decides as whom to sign in."""

from flask import render_template_string

from tests.labs.provider.state import PEOPLE

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sign in at provider {{ name }}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; background: #f3f4f8; color: #1d2433; margin: 0;
       display: grid; place-items: center; min-height: 100vh }
main { background: #fff; border-radius: 14px; box-shadow: 0 8px 30px #1d243318; padding: 2rem; width: 21rem }
h1 { font-size: 1.25rem; margin: 0 } p { color: #5b6478; margin: .25rem 0 1.25rem }
button { display: flex; gap: .8rem; align-items: center; width: 100%; padding: .7rem .9rem; margin: .5rem 0;
         border: 1px solid #d8dce6; border-radius: 10px; background: #fff; font: inherit; text-align: left;
         cursor: pointer }
button:hover, button:focus { border-color: #4c6ef5; background: #f5f7ff }
b { background: #4c6ef5; color: #fff; border-radius: 50%; width: 2.2rem; height: 2.2rem; line-height: 2.2rem;
    text-align: center } small { display: block; color: #5b6478 } .deny { justify-content: center; color: #b42318 }
</style>
</head>
<body>
<main>
<h1>Provider {{ name }}</h1>
<p>Gatewright asks who you are. Whom shall it meet?</p>
<form method="post">
{% for user in people %}
<button name="chosen" value="{{ user.email }}"><b>{{ user.name[0] }}</b>
<span>{{ user.name }}<small>{{ user.email }}{{ "" if user.email_verified else " (not verified)" }}</small></span>
</button>
{% endfor %}
<button class="deny" name="chosen" value="">Nobody: deny it</button>
</form>
</main>
</body>
</html>
"""


def choosing(name: str) -> str:
    """Return the page with a button per test user; each posts the address as `chosen`, none denies."""
    return render_template_string(_PAGE, name=name, people=PEOPLE)
