import type { Dependency } from "./dependencies.ts";

/** The licences of everything that an executable contains, for the archives. */
export function thirdPartyLicenses(dependencies: readonly Dependency[]): string {
  const parts = dependencies.map(
    ({ name, version, license, licenseText }) =>
      `${heading(`${name} ${version}: ${license}`)}\n\n${licenseText || "The package has no file with its text."}`,
  );
  return `${[bunLicense, ...parts].join("\n\n\n")}\n`;
}

function heading(text: string): string {
  return `${text}\n${"=".repeat(text.length)}`;
}

/** Bun's own packages carry no licence file, so this says where its text is. */
const bunLicense = `What the Sluice executable contains besides Sluice itself (Apache-2.0, see LICENSE), and under which licences.


${heading(`Bun ${Bun.version}: MIT`)}

The runtime. It is statically linked with JavaScriptCore and other parts of WebKit (LGPL-2.0 and later, BSD), BoringSSL,
SQLite, mimalloc, zlib, libarchive and others; their notices are at https://bun.com/docs/project/license, and the source that
they can be linked anew from is at https://github.com/oven-sh/bun (tag bun-v${Bun.version}) and https://github.com/oven-sh/webkit.`;
