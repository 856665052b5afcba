/** A system that a release is made for, and what each way of installing calls it. */
export interface Target {
  /** In the names of archives: `linux-x64`. */
  readonly name: string;
  readonly bun: Bun.Build.CompileTarget;
  /** How npm decides whether a package fits; null where no npm package is made. */
  readonly npm: { readonly os: string; readonly cpu: string; readonly libc?: "glibc" | "musl" } | null;
  /** What Debian and what rpm call the processor; null where no package is made. */
  readonly packages: { readonly deb: string; readonly rpm: string } | null;
}

/**
 * `linux-x64` runs on every x86-64 processor since 2008: Bun 1.4 has one build for old and new ones, and picks
 * faster code when it starts. `linux-x64-baseline` has the same executable, under the name that scripts for
 * old processors ask for.
 */
export const targets: readonly Target[] = [
  {
    name: "linux-x64",
    bun: "bun-linux-x64",
    npm: { os: "linux", cpu: "x64", libc: "glibc" },
    packages: { deb: "amd64", rpm: "x86_64" },
  },
  {
    name: "linux-arm64",
    bun: "bun-linux-arm64",
    npm: { os: "linux", cpu: "arm64", libc: "glibc" },
    packages: { deb: "arm64", rpm: "aarch64" },
  },
  {
    name: "linux-x64-musl",
    bun: "bun-linux-x64-musl",
    npm: { os: "linux", cpu: "x64", libc: "musl" },
    packages: null,
  },
  {
    name: "linux-arm64-musl",
    bun: "bun-linux-arm64-musl",
    npm: { os: "linux", cpu: "arm64", libc: "musl" },
    packages: null,
  },
  { name: "linux-x64-baseline", bun: "bun-linux-x64-baseline", npm: null, packages: null },
  { name: "darwin-x64", bun: "bun-darwin-x64", npm: { os: "darwin", cpu: "x64" }, packages: null },
  { name: "darwin-arm64", bun: "bun-darwin-arm64", npm: { os: "darwin", cpu: "arm64" }, packages: null },
  { name: "windows-x64", bun: "bun-windows-x64", npm: { os: "win32", cpu: "x64" }, packages: null },
];

export function isWindows(target: Target): boolean {
  return target.name.startsWith("windows");
}

/** The program's name inside of archives and packages. */
export function executableName(target: Target): string {
  return isWindows(target) ? "sluice.exe" : "sluice";
}
