import { gzipSync } from "node:zlib";
import type { Build } from "./build.ts";
import { ReleaseFailure } from "./failure.ts";
import { type ReleaseFile, textFile } from "./files.ts";

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
  const { readme, license, changelog, thirdParty, manual, examples, deploy, completions } = documents;
  const configuration = examples.find(({ path }) => path === "config/sluice.toml");
  if (configuration === undefined) throw new ReleaseFailure("config/sluice.toml is missing");
  const shared = "usr/share/doc/sluice";
  const files: ReleaseFile[] = [
    { path: "usr/bin/sluice", bytes: executable, isExecutable: true },
    { ...configuration, path: "etc/sluice/sluice.toml" },
    ...deploy.flatMap(({ path, bytes }) =>
      path.endsWith(".service") ? [packagedUnit(path.slice("config/deploy/".length), bytes)] : [],
    ),
    textFile("usr/lib/sysusers.d/sluice.conf", sysusers),
    ...examples.map((file) => ({ ...file, path: file.path.replace("config/", `${shared}/examples/`) })),
    { ...readme, path: `${shared}/README.md` },
    { ...changelog, path: `${shared}/CHANGELOG.md` },
    { ...license, path: `${shared}/copyright` },
    { ...thirdParty, path: `${shared}/THIRD-PARTY-LICENSES.txt` },
    { path: "usr/share/man/man1/sluice.1.gz", bytes: gzipSync(manual.bytes, { level: 9 }) },
    textFile("usr/share/bash-completion/completions/sluice", completions.bash),
    textFile(`usr/share/zsh/${zshFolder}/_sluice`, completions.zsh),
    textFile("usr/share/fish/vendor_completions.d/sluice.fish", completions.fish),
  ];
  return { files, configurationFiles: ["etc/sluice/sluice.toml"] };
}

const sysusers = 'u sluice - "Sluice gateway" /var/lib/sluice\n';

/**
 * The units of config/deploy with two differences. The program is where packages put it, and the user is a lasting one, so
 * that `sudo -u sluice sluice keys list` works beside the gateway.
 */
function packagedUnit(name: string, bytes: Uint8Array): ReleaseFile {
  const changes = [
    [/^#.*\n(?=(?:#.*\n)*\n\[Unit\])/gm, ""],
    ["ExecStart=/usr/local/bin/sluice", "ExecStart=/usr/bin/sluice"],
    ["# A user that exists only while it runs, and a folder", "# A user of its own, and a folder"],
    ["DynamicUser=yes", "User=sluice\nGroup=sluice"],
  ] as const;
  let text = new TextDecoder().decode(bytes);
  for (const [from, to] of changes) {
    const changed = text.replace(from, to);
    if (changed === text) throw new ReleaseFailure(`${name} has no ${from}, which the packages change`);
    text = changed;
  }
  return textFile(`usr/lib/systemd/system/${name}`, text.trimStart());
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
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart sluice.service 'sluice@*.service'
fi
`;

/** Runs before the package is removed, and not before an upgrade. */
export const beforeRemove = `if [ -z "\${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl disable --now sluice.service 'sluice@*.service' || true
fi
`;

/** The data and its user stay, also when the configuration is purged: a ledger is not deleted by a package manager. */
export const afterRemove = `if [ -z "\${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
`;
