import { description, version } from "../../package.json";
import { ReleaseFailure } from "./failure.ts";

/** A formula for Homebrew, on macOS and on Linux. */
export function homebrewFormula(
  address: string,
  files: readonly { readonly name: string; readonly sha256: string }[],
): string {
  const source = (target: string) => {
    const name = `sluice-${version}-${target}.tar.xz`;
    const sha256 = files.find((file) => file.name === name)?.sha256;
    if (sha256 === undefined) throw new ReleaseFailure(`the formula needs ${name}, which was not made`);
    return `      url "${address}/${name}"\n      sha256 "${sha256}"`;
  };
  const system = (name: string, target: string) => `  on_${name} do
    on_arm do
${source(`${target}-arm64`)}
    end
    on_intel do
${source(`${target}-x64`)}
    end
  end`;
  // Homebrew wants neither the article at the beginning nor the full stop.
  const summary = (description.split(":")[0] ?? "").replace(/^A /, "");
  return `class Sluice < Formula
  desc "${summary.charAt(0).toUpperCase()}${summary.slice(1)}"
  version "${version}"
  license "Apache-2.0"

${system("macos", "darwin")}

${system("linux", "linux")}

  def install
    bin.install "sluice"
    man1.install "man/sluice.1"
    bash_completion.install "completions/sluice.bash" => "sluice"
    zsh_completion.install "completions/_sluice"
    fish_completion.install "completions/sluice.fish"
    pkgetc.install "config/sluice.toml"
  end

  service do
    run [opt_bin/"sluice", "serve"]
    environment_variables SLUICE_CONFIG: etc/"sluice/sluice.toml", SLUICE_DATA: var/"sluice"
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/sluice version")
  end
end
`;
}
