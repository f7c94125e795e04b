"""The store's part of the environment."""

from pathlib import Path

import pytest
from environs import Env, EnvValidationError

from coatcheck.tasks_store import StoreSettings
from tests.support.tls import self_signed

VARIABLES = {
    "REDIS_URL": "redis://example.test:6390/2",
    "COATCHECK_REDIS_TLS_VERIFY": "no",
    "COATCHECK_REDIS_CA_FILE": "",
    "COATCHECK_LEASE_SECONDS": "3",
    "COATCHECK_SWEEP_SECONDS": "0.5",
    "COATCHECK_KEEP_SECONDS": "60",
    "COATCHECK_CANCEL_GRACE_SECONDS": "1.5",
    "COATCHECK_RESEND_SECONDS": "2",
    "COATCHECK_FAULTS": "claimed=kill",
}


def read() -> StoreSettings:
    """The settings as the environment has them."""
    env = Env(eager=False)
    settings = StoreSettings.read(env)
    env.seal()
    return settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the variables is set."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_an_empty_environment_means_the_defaults() -> None:
    assert read() == StoreSettings()


def test_each_variable_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path)
    for name, value in {**VARIABLES, "COATCHECK_REDIS_CA_FILE": str(certificate)}.items():
        monkeypatch.setenv(name, value)
    assert read() == StoreSettings(
        redis_url="redis://example.test:6390/2",
        redis_tls_verify=False,
        redis_ca_file=str(certificate),
        lease_ms=3_000,
        sweep_ms=500,
        keep_ms=60_000,
        cancel_grace_ms=1_500,
        resend_ms=2_000,
        faults="claimed=kill",
    )


def test_all_faults_are_reported_together_by_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COATCHECK_LEASE_SECONDS", "soon")
    monkeypatch.setenv("COATCHECK_KEEP_SECONDS", "1e9")
    monkeypatch.setenv("COATCHECK_REDIS_TLS_VERIFY", "perhaps")
    with pytest.raises(EnvValidationError) as faults:
        read()
    assert set(faults.value.error_messages) == {
        "COATCHECK_LEASE_SECONDS",
        "COATCHECK_KEEP_SECONDS",
        "COATCHECK_REDIS_TLS_VERIFY",
    }


@pytest.mark.parametrize("content", [None, "", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_of_authorities_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None) -> None:
    """K3.6."""
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("COATCHECK_REDIS_CA_FILE", str(file))
    with pytest.raises(EnvValidationError) as faults:
        read()
    assert set(faults.value.error_messages) == {"COATCHECK_REDIS_CA_FILE"}
