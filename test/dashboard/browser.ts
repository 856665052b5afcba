import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { newFolder } from "../support/new-folder.ts";

/** The one without windows takes half of the CPU time, so it comes first. */
const names = [
  "chromium-headless-shell",
  "chromium",
  "chromium-browser",
  "google-chrome-stable",
  "google-chrome",
  "chrome",
];
const aptSeconds = 240;
const npmSeconds = 120;
/** Ships a Chromium inside the package itself, so that no other download is needed. */
const packaged = "@sparticuz/chromium@153.0.0";

let found: Promise<string | null> | undefined;

/** The path of a browser: the one installed, else Debian's, else one from an npm package; null without any. */
export function findBrowser(): Promise<string | null> {
  found ??= look();
  return found;
}

async function look(): Promise<string | null> {
  const path = installed() ?? (await fromDebian()) ?? (await fromPackage());
  if (path === null) {
    console.warn(
      "\n!!! NO BROWSER: none is installed and none could be had. The dashboard's tests are skipped. !!!\n",
    );
  }
  return path;
}

function installed(): string | null {
  const chosen = process.env["SLUICE_TEST_BROWSER"];
  if (chosen !== undefined && existsSync(chosen)) return chosen;
  for (const name of names) {
    const path = Bun.which(name);
    if (path !== null) return path;
  }
  return null;
}

async function fromDebian(): Promise<string | null> {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || Bun.which("apt-get") === null) return null;
  console.warn("no browser is installed: asking apt-get for chromium, once");
  const install = "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq";
  const command = `apt-get update -qq && { ${install} chromium-headless-shell || ${install} chromium; }`;
  return (await ends(["sh", "-c", command], "/", aptSeconds)) ? installed() : null;
}

async function fromPackage(): Promise<string | null> {
  const folder = newFolder();
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await Bun.write(join(folder, "package.json"), "{}");
  if (!(await ends([process.execPath, "add", packaged], folder, npmSeconds))) return null;
  const module = join(folder, "node_modules", "@sparticuz", "chromium", "build", "index.js");
  if (!existsSync(module)) return null;
  const { default: carried } = await import(module);
  return await carried.executablePath().catch(() => null);
}

async function ends(command: string[], cwd: string, seconds: number): Promise<boolean> {
  const child = Bun.spawn(command, { cwd, stdout: "ignore", stderr: "ignore", timeout: seconds * 1000 });
  return (await child.exited) === 0;
}

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Look {
  readonly scheme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

export interface Browsing extends AsyncDisposable {
  readonly context: BrowserContext;
}

let running: Promise<Browser> | undefined;

/** A new, empty profile, in the one browser of this process, which ends with it. */
export async function browse(executablePath: string, { scheme, width, height }: Look): Promise<Browsing> {
  running ??= chromium.launch({ executablePath, args: flags });
  const context = await (await running).newContext({
    colorScheme: scheme,
    // What moves is painted again and again, and has any color in between.
    reducedMotion: "reduce",
    viewport: { width, height },
    locale: "en-GB",
    // Not the server's: days of reports are UTC, wherever they are read.
    timezoneId: "America/Los_Angeles",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  return { context, [Symbol.asyncDispose]: () => context.close() };
}

/** Chooses in a field that is searched by typing. */
export async function chooseBy(page: Page | Locator, label: string, text: string): Promise<void> {
  const field = page.getByLabel(label, { exact: true });
  await field.fill(text);
  await field.press("Enter");
}

/** Chooses what the playground charges, which the server finds. */
export async function choosePayer(page: Page, text: string): Promise<void> {
  const field = page.getByLabel("Key or account", { exact: true });
  await field.fill(text);
  await page.getByRole("option", { name: text }).first().click();
}

/** Shows another page of the dashboard as a link does: its program, and what a test has put there, need not be loaded again. */
export async function follow(page: Page, url: string): Promise<void> {
  await page.evaluate(
    `new Promise((drawn) => {
      history.pushState(null, "", ${JSON.stringify(url)});
      dispatchEvent(new PopStateEvent("popstate"));
      requestAnimationFrame(() => requestAnimationFrame(drawn));
    })`,
  );
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  await page.locator("main:not(.settling)").waitFor();
}
