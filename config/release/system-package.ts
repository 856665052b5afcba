import { gzipSync } from "node:zlib";
import type { Build } from "./build.ts";
import { ReleaseFailure } from "./failure.ts";
import { below, type ReleaseFile, textFile } from "./files.ts";

/** What deb and rpm have in common. */
export interface SystemPackage {
  readonly files: readonly ReleaseFile[];
  /** Of these an upgrade keeps what the administrator has changed. */
  readonly configurationFiles: readonly string[];
}

/** Debian's zsh looks for completions of packages in another folder than everybody else's. */
export function systemPackage(
  { executable, documents }: Build,
  zshFolder: "vendor-completions" | "site-functions",
): SystemPackage {
  const { readme, license, changelog, thirdParty, manual, examples, deploy, guides, completions } = documents;
  const configuration = examples.find(({ path }) => path === "config/sluice.toml");
  if (configuration === undefined) throw new ReleaseFailure("config/sluice.toml is missing");
  const shared = "usr/share/doc/sluice";
  const files: ReleaseFile[] = [
    { path: "usr/bin/sluice", bytes: executable, isExecutable: true },
    packagedConfiguration(configuration.bytes),
    ...deploy.flatMap(({ path, bytes }) =>
      path.endsWith(".service") ? [packagedUnit(path.slice("config/deploy/".length), bytes)] : [],
    ),
    textFile("usr/lib/sysusers.d/sluice.conf", sysusers),
    // Laid out as in the repository, so that links between them work.
    ...below(shared, [readme, changelog, ...guides, ...examples, ...deploy]),
    { ...license, path: `${shared}/copyright` },
    { ...thirdParty, path: `${shared}/THIRD-PARTY-LICENSES.txt` },
    { path: "usr/share/man/man1/sluice.1.gz", bytes: gzipSync(manual.bytes, { level: 9 }) },
    textFile("usr/share/bash-completion/completions/sluice", completions.bash),
    textFile(`usr/share/zsh/${zshFolder}/_sluice`, completions.zsh),
    textFile("usr/share/fish/vendor_completions.d/sluice.fish", completions.fish),
  ];
  return { files, configurationFiles: ["etc/sluice/sluice.toml"] };
}

const dataFolder = "/var/lib/sluice";

const sysusers = `u sluice - "Sluice gateway" ${dataFolder}\n`;

/** The built-in configuration with the package's data folder, so that a plain `sluice keys list` finds what the service uses. */
function packagedConfiguration(bytes: Uint8Array): ReleaseFile {
  const text = changed("config/sluice.toml", bytes, [
    [/^# data = "sluice-data".*$/m, `data = "${dataFolder}"       # keys, ledger and usage live here`],
  ]);
  return textFile("etc/sluice/sluice.toml", text);
}

/**
 * The units of config/deploy with two differences. The program is where packages install it, and the user is permanent, so
 * that `sudo -u sluice sluice keys list` works while the gateway runs.
 */
function packagedUnit(name: string, bytes: Uint8Array): ReleaseFile {
  const text = changed(name, bytes, [
    [/^#.*\n(?=(?:#.*\n)*\n\[Unit\])/gm, ""],
    ["ExecStart=/usr/local/bin/sluice", "ExecStart=/usr/bin/sluice"],
    ["# A user that exists only while it runs, and a folder", "# A user of its own, and a folder"],
    ["DynamicUser=yes", "User=sluice\nGroup=sluice"],
  ]);
  return textFile(`usr/lib/systemd/system/${name}`, text.trimStart());
}

/** Throws where there is nothing to replace, so that a package never ships a file that missed its change. */
function changed(
  name: string,
  bytes: Uint8Array,
  replacements: readonly (readonly [from: string | RegExp, to: string])[],
): string {
  let text = new TextDecoder().decode(bytes);
  for (const [from, to] of replacements) {
    const next = text.replace(from, to);
    if (next === text) throw new ReleaseFailure(`${name} has no ${from}, which the packages change`);
    text = next;
  }
  return text;
}

/** Runs after an installation or an upgrade. `DPKG_ROOT` is set where Debian installs into another system's folder. */
export const afterInstall = `root="\${DPKG_ROOT:-}"
if ! grep -qs '^sluice:' "$root/etc/passwd"; then
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers --root="\${root:-/}" sluice.conf
  else
    useradd \${root:+--prefix "$root"} --system --user-group --no-create-home \\
      --home-dir /var/lib/sluice --shell /usr/sbin/nologin --comment "Sluice gateway" sluice
  fi
fi
if [ ! -d "$root/var/lib/sluice" ]; then
  mkdir -p "$root/var/lib/sluice"
  chown "$(sed -n 's/^sluice:[^:]*:\\([0-9]*\\):\\([0-9]*\\):.*/\\1:\\2/p' "$root/etc/passwd")" "$root/var/lib/sluice"
  chmod 700 "$root/var/lib/sluice"
fi
if [ ! -e "$root/etc/sluice/secrets.env" ]; then
  (umask 077 && : >"$root/etc/sluice/secrets.env")
fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart sluice.service 'sluice@*.service'
fi
`;

/** Runs before the package is removed, and not before an upgrade. Patterns match units for `stop` only; the template disables its instances. */
export const beforeRemove = `if [ -z "\${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl stop sluice.service 'sluice@*.service' || true
  systemctl disable sluice.service sluice@.service || true
fi
`;

/** The data and its user stay, also when the configuration is purged: a ledger is not deleted by a package manager. */
export const afterRemove = `if [ -z "\${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
`;
