"""A team's Flask application, with the MCP endpoint beside what it has."""

from flask import Flask, Request, session

from coatcheck.wsgi import flask_blueprint


def owner(_request: Request) -> tuple[str, str, list[str] | None] | None:
    """Tell who is signed in."""
    return ("acme", session["user"], None) if "user" in session else None


app = Flask(__name__)
app.secret_key = "of a test"
app.register_blueprint(flask_blueprint(owner), url_prefix="/api")


@app.get("/login/<name>")
def login(name: str) -> str:
    """Sign in."""
    session["user"] = name
    return name
