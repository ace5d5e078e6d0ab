"""Machine code of an emitted module, kept beside its text: one file for the entry point and all its callees.

It is numba's, with two things mended, which go wrong in numba's own cache:

symbols     numba names functions by a counter, which begins anew in each process. What is loaded would be linked to a
            function of this process that happens to have the same name, or that one to what was loaded. So all but the
            top function become local to the object code.
recursion   a call of a function that is not compiled yet goes through a pointer, which numba sets when it compiles that
            function; in another process nobody does. So the pointer gets its value, the function in the same code.

Functions that are passed as arguments are found again: for numba they are new ones in each process.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import weakref
from typing import Any

import llvmlite.binding as llvm
from llvmlite.binding import ModuleRef
from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.codegen import CodeLibrary, RuntimeLinker
from numba.core.compiler import CompileResult
from numba.core.environment import Environment, lookup_environment
from numba.core.serialize import dumps

from dualrev.compiler.bridge.cache.frozen_globals import reachable
from dualrev.compiler.bridge.cache.store import Folder, warn
from dualrev.compiler.runtime.link import DeferredLibrary
from dualrev.compiler.types.aliases import Dispatcher, Signature, TargetContext

__all__ = ["MachineCode"]


class MachineCode(_Cache):
    """Numba's cache interface, for the one overload of the entry point of an emitted module."""

    def __init__(self, folder: Folder, stem: str, function: Dispatcher) -> None:
        self._folder, self._stem, self._function = folder, stem, weakref.ref(function)

    @property
    def cache_path(self) -> str:
        """Folder of the files."""
        return str(self._folder.place)

    def enable(self) -> None:
        """Do nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Do nothing: the cache stays enabled."""

    def flush(self) -> None:
        """Do nothing: a changed function has another file."""

    def _name(self, codegen: Any) -> str:
        processor = hashlib.sha256(repr(codegen.magic_tuple()).encode()).hexdigest()
        return f"{self._stem}.{processor[:8]}.nbc"

    def load_overload(self, sig: Signature, target_context: TargetContext) -> Any:
        """Load the overload for this processor, if available; the file's name stands for all else."""
        target_context.refresh()
        data = self._folder.read(self._name(target_context.codegen()))
        if data is None:
            return None
        try:
            found = CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # it was written so, and what it refers to may have gone
            return None
        args = tuple(sigutils.normalize_signature(sig)[0])
        found.fndesc.argtypes = args
        return found._replace(signature=found.signature.replace(args=args))

    def save_overload(self, sig: Signature, data: Any) -> None:
        """Save an overload, if it does not depend on this process."""
        library = data.library
        module = None
        if not library.has_dynamic_globals:
            module = _resolved(library._get_module_for_linking().clone(), self._function())
        if module is None:
            name = data.fndesc.qualname.split(".")[-1]
            warn(
                f"the machine code of {name} is not cached: it depends on this process (a global array of more than a "
                "megabyte, a C function, a function among the arguments, or before numba 0.62 a recursive function)."
            )
            return
        kept = list(data._reduce())
        kept[0], kept[-1] = _closed(module, data), _environments(module)
        self._folder.write(self._name(data.codegen), dumps(tuple(kept)))


def _closed(module: ModuleRef, compiled: Any) -> tuple[str, str, tuple[bytes, bytes]]:
    """Serialise the object code of an overload; symbols other than its own become internal."""
    library, description = compiled.library, compiled.fndesc
    if isinstance(library, DeferredLibrary) and (code := library.object_code()) is not None:
        return library.name, "object", (code, module.as_bitcode())
    public = {
        description.mangled_name,
        description.llvm_cpython_wrapper_name,
        description.llvm_cfunc_wrapper_name,
    }
    defined = [f for f in module.functions if not f.is_declaration]
    for f in defined:
        f.linkage = "external" if f.name in public else "internal"
    code = library._codegen._tm.emit_object(module)
    for f in defined:
        if f.name in public:
            f.linkage = "linkonce_odr"  # as numba does with what it links into callers
    return library.name, "object", (code, module.as_bitcode())


def _environments(module: ModuleRef) -> tuple[Environment, ...]:
    """Numba environments of the module's functions: their Python objects, as numba serialises them."""
    names = (v.name for v in module.global_variables if v.name.startswith("_ZN08NumbaEnv"))
    return tuple(found for found in map(lookup_environment, names) if found is not None and found.can_cache())


_POINTER = re.compile(
    rf'^(@"?{re.escape(RuntimeLinker.PREFIX)}([^"\s]*)"?) = external [a-z_ ]*global ptr\b', re.MULTILINE
)


def _resolved(module: ModuleRef, function: Dispatcher) -> ModuleRef | None:
    """Resolve the pointers of recursive calls in a module, and link their targets; None if one is not found."""
    libraries: dict[str, CodeLibrary] = {}
    rounds = 0
    while count := sum(v.name.startswith(RuntimeLinker.PREFIX) for v in module.global_variables):
        wanted = {found[2] for found in _POINTER.finditer(str(module))}
        text, done = _POINTER.subn(r'\1 = internal constant ptr @"\2"', str(module))
        missing = wanted - {f.name for f in module.functions if not f.is_declaration}
        libraries = libraries or _libraries(function)
        if done < count or not missing <= set(libraries):
            return None
        unknown = missing - {f.name for f in module.functions}
        text += "".join(f'declare void @"{name}"()\n' for name in unknown)  # linked is what is referred to
        rounds += 1
        module = llvm.parse_assembly(text.replace(RuntimeLinker.PREFIX, f".dualrev.resolved.{rounds}$"))
        for name in missing:
            module.link_in(libraries[name]._get_module_for_linking(), preserve=True)
    return module


def _libraries(function: Dispatcher) -> dict[str, CodeLibrary]:
    """Compiled code of a function and of its transitive callees, by symbol."""
    overloads = [made for f in reachable(function) for made in f.overloads.values()]
    return {made.fndesc.mangled_name: made.library for made in overloads}
