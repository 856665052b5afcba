#!/usr/bin/env node
// Starts the executable of the one platform package that was installed beside this one.
const { spawn } = require("node:child_process");
const { readdirSync } = require("node:fs");

/** Package managers that do not look at `libc` install both; the musl loader tells which one runs. */
function isMusl() {
  if (process.platform !== "linux") return false;
  try {
    const loaders = readdirSync("/lib").concat(readdirSync("/lib64"));
    return !loaders.some((name) => name.startsWith("ld-linux"));
  } catch {
    return true; // Alpine has no /lib64.
  }
}

function findExecutable() {
  const platform = `${process.platform}-${process.arch}${isMusl() ? "-musl" : ""}`;
  const file = process.platform === "win32" ? "sluice.exe" : "sluice";
  try {
    return require.resolve(`@sluice/${platform}/bin/${file}`);
  } catch {
    console.error(
      `error: the package @sluice/${platform} is not installed. Either there is no Sluice for this system, or optional ` +
        "dependencies were left out: install again without --omit=optional.",
    );
    process.exit(1);
  }
}

const executable = findExecutable();
const args = process.argv.slice(2);
if (typeof process.execve === "function" && process.platform !== "win32") {
  // Becomes the program itself: same process, so that signals and the exit status are its own.
  process.execve(executable, [executable, ...args], process.env);
} else {
  const child = spawn(executable, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
