"""installed - librota as a user has it: installed into a folder, found through pkg-config."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))


def install(folder):
    """Installs into the folder; what programs need to find it there."""
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True,
                   env=dict(os.environ, DESTDIR=folder), stdout=subprocess.DEVNULL)
    found = subprocess.run(["find", folder, "-name", "rota.pc"], check=True, text=True,
                           capture_output=True).stdout.split()
    library = os.path.dirname(os.path.dirname(found[0]))
    module = subprocess.run(["find", folder, "-name", "rota.py"], check=True, text=True,
                            capture_output=True).stdout.split()
    # The installed files say where they will be; for now that is below the folder.
    return dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found[0]),
                PKG_CONFIG_SYSROOT_DIR=folder, LD_LIBRARY_PATH=library,
                PYTHONPATH=os.path.dirname(module[0]), PYTHONDONTWRITEBYTECODE="1")


def flags(surroundings, *words):
    return subprocess.run(["pkg-config", *words, "rota"], env=surroundings, check=True, text=True,
                          capture_output=True).stdout.split()
