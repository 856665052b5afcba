import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Bundles the page. It is called as a macro (assets.ts), so it runs where that file is transpiled: when the
 * executable is compiled, or at the first look at the dashboard when run from source. It starts Bun's own
 * bundler as a process because a macro may not call `Bun.build`: the bundler would wait for itself.
 */
export function bundlePage(): { script: string; style: string } {
  const { script, style } = bundled();
  return { script: compressed(script), style: compressed(style) };
}

/** As base64, because a macro cannot return bytes. */
function compressed(text: string): string {
  return Buffer.from(Bun.gzipSync(Buffer.from(text), { level: 9 })).toString("base64");
}

function bundled(): { script: string; style: string } {
  const folder = mkdtempSync(join(tmpdir(), "sluice-page-"));
  try {
    const entry = join(import.meta.dir, "page", "main.tsx");
    const flags = ["--minify", "--target=browser", "--production", "--jsx-import-source=preact"];
    const built = Bun.spawnSync([process.execPath, "build", entry, ...flags, "--outdir", folder], {
      // Options for this program come before the bundler's own: `bun --preload … build` runs a script named build.
      env: { ...process.env, NODE_ENV: "production", BUN_OPTIONS: "" },
    });
    if (built.exitCode !== 0) throw new Error(built.stderr.toString());
    return {
      script: readFileSync(join(folder, "main.js"), "utf8"),
      style: readFileSync(join(folder, "main.css"), "utf8"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
