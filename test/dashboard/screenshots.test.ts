import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { systemClock } from "../../src/base/clock.ts";
import { Sluice } from "../support/sluice.ts";
import { browse, chooseBy, choosePayer, findBrowser, follow } from "./browser.ts";
import { fontScript } from "./looks/viewers.ts";
import { askAtLength, fillSample, sampleConfig, startSample } from "./sample.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();
const folder = join(import.meta.dir, "..", "..", "dist", "screenshots");
/** `SLUICE_TEST_PICTURES=1` puts a picture of every page there, too; painting them takes most of the time. */
const takesPictures = process.env["SLUICE_TEST_PICTURES"] === "1";

const pages = [
  "overview",
  "keys",
  "key",
  "accounts",
  "account",
  "models",
  "reports",
  "requests",
  "exchange",
  "content",
  "playground",
  "tail",
  "system",
] as const;
const hasTable = (name: (typeof pages)[number]) =>
  !["overview", "exchange", "content", "playground"].includes(name);
/** A fifth of what browsers call good. */
const maxShift = 0.02;
const sizes = { desk: { width: 1360, height: 850 }, phone: { width: 390, height: 844 } } as const;

describe.if(browserPath !== null)("every page", () => {
  let sluice: Sluice;
  let key: { readonly id: string; readonly key: string };
  let account: { readonly id: string };
  let conversation: string;

  beforeAll(async () => {
    sluice = await startSample(token);
    key = await sluice.createKey({ label: "Documentation", credit: 20 });
    account = await sluice.cliJson<{ readonly id: string }>("accounts", "show", "Product teams");
    for (const model of ["gpt-5.6", "claude-opus-5", "nobody's"]) await ask(model);
    conversation = await askAtLength(sluice, key.key);
  }, 300_000);

  afterAll(() => sluice.dispose());

  async function ask(model: string): Promise<void> {
    const messages = [{ role: "user", content: "Say hello." }];
    const headers = { authorization: `Bearer ${key.key}` };
    const response = await sluice.request("/v1/chat/completions", { headers, body: { model, messages } });
    await response.text();
  }

  async function signIn(page: Page, at = sluice): Promise<void> {
    await page.goto(`${at.url}/admin`);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await page.locator(".charts canvas").first().waitFor();
  }

  function addressOf(name: (typeof pages)[number]): string {
    const paths = {
      overview: "",
      key: `/keys/${key.id}`,
      account: `/accounts/${account.id}`,
      reports: "/reports?by=key,model&since=30d",
      exchange: "/requests?outcome=failed",
      content: `/requests/${conversation}`,
    } as Record<string, string>;
    return `/admin${paths[name] ?? `/${name}`}`;
  }

  async function show(page: Page, name: (typeof pages)[number]): Promise<void> {
    await follow(page, addressOf(name));
    if (name === "exchange") {
      await page.locator("tbody a").first().click();
      await page.getByRole("heading", { name: "Ledger" }).waitFor();
    }
    if (name === "content") {
      await page.getByRole("button", { name: "Show content" }).click();
      await page.getByText("Tool call").first().waitFor();
    }
    if (name === "playground") {
      await choosePayer(page, "Documentation");
      await chooseBy(page, "Model", "gpt-5.6");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("done", { exact: true }).waitFor();
      await page.locator("[data-test=cost]").getByText("credits").waitFor();
    }
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
  }

  async function picture(page: Page, name: string, fullPage = false): Promise<void> {
    if (takesPictures) await page.screenshot({ path: join(folder, `${name}.png`), fullPage });
  }

  /** Copies of them are docs/dashboard.png and docs/key-page.png; with the font of the stored pictures they look as on most desks. */
  if (takesPictures)
    test("the overview of a week and a key, for the documentation", async () => {
      const healthy = await Sluice.start({
        config: sampleConfig,
        env: { SLUICE_ADMIN_TOKEN: token },
        fill: (dir) => fillSample(dir, systemClock, 0),
      });
      await using browsing = await browse(browserPath ?? "", { scheme: "light", width: 1240, height: 1110 });
      await browsing.context.addInitScript(await fontScript());
      const page = await browsing.context.newPage();
      await signIn(page, healthy);
      await page.goto(`${healthy.url}/admin?range=7d`);
      await page.locator(".charts canvas").first().waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Hide" }).click();
      await picture(page, "dashboard");
      await page.setViewportSize({ width: 1240, height: 1010 });
      await follow(page, "/admin/keys");
      await page.getByRole("link", { name: "Mobile app" }).click();
      await page.getByRole("heading", { name: "By model, last 30 days" }).waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      await picture(page, "key-page");
      await healthy.dispose();
    });

  test("on a desk and on a phone, light and dark, nothing is wider than the window", async () => {
    await using browsing = await browse(browserPath ?? "", { scheme: "light", ...sizes.desk });
    const page = await browsing.context.newPage();
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").waitFor();
    for (const size of ["phone", "desk"] as const) {
      await page.setViewportSize(sizes[size]);
      await picture(page, `${size}-light-sign-in`);
    }
    await signIn(page);
    for (const name of pages) {
      await show(page, name);
      await expectToFit(page, name, "phone");
      if (name === "keys") {
        const tallest = await page.evaluate(
          `Math.max(...[...document.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height))`,
        );
        expect(Number(tallest), "a key takes a few lines, not a screen").toBeLessThan(130);
      }
      if (name === "requests") {
        const apart = await page.evaluate(
          `Math.max(...[...document.querySelectorAll("td[data-name=Tokens] span")].map(
            (arrow) => arrow.parentElement.getBoundingClientRect().right - arrow.getBoundingClientRect().right))`,
        );
        expect(Number(apart), "input and output stay together").toBeLessThan(80);
      }
      await expectToFit(page, name, "desk");
      if (hasTable(name)) await expectToFitBetween(page, name);
    }
  }, 120_000);

  test.each(Object.entries(sizes))(
    "nothing moves while a page loads, on a %s",
    async (_, viewport) => {
      await using browsing = await browse(browserPath ?? "", { scheme: "light", ...viewport });
      const page = await browsing.context.newPage();
      await signIn(page);
      await page.addInitScript(`globalThis.shifted = 0;
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) globalThis.shifted += value;
      }).observe({ type: "layout-shift", buffered: true });`);
      const shifts: Record<string, number> = {};
      for (const name of pages) {
        await page.goto(sluice.url + addressOf(name));
        await page.locator("main:not(.settling) h1").waitFor();
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        shifts[name] = Number(await page.evaluate("globalThis.shifted"));
      }
      expect(Object.entries(shifts).filter(([, shift]) => shift > maxShift)).toEqual([]);
    },
    120_000,
  );

  async function expectToFit(
    page: Page,
    name: (typeof pages)[number],
    size: keyof typeof sizes,
  ): Promise<void> {
    await page.setViewportSize(sizes[size]);
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `${size}-${colorScheme}-${name}`, name !== "exchange");
      const wider = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect(`${name} ${colorScheme} ${size} ${wider}`).toBe(`${name} ${colorScheme} ${size} 0`);
    }
  }

  /** At every width between a phone and a desk, neither a page nor a table is wider than its place. */
  async function expectToFitBetween(page: Page, name: (typeof pages)[number]): Promise<void> {
    if (name === "tail") {
      await ask("gpt-5.6");
      await page.locator("tbody tr").first().waitFor();
    }
    for (const width of [1280, 1200, 1120, 1024, 900, 768]) {
      await page.setViewportSize({ width, height: 850 });
      const wider = await page.evaluate(
        `Math.max(document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll("table")].map(
          (table) => Math.ceil(table.getBoundingClientRect().right - table.parentElement.getBoundingClientRect().right)))`,
      );
      expect(Math.max(0, Number(wider)), `${name} at ${width}`).toBe(0);
      const overflowing = await page.evaluate(
        `[...document.querySelectorAll("td")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1 && cell.title === "").map((cell) => cell.textContent)`,
      );
      expect(overflowing, `cells of ${name} at ${width}`).toEqual([]);
    }
    await page.setViewportSize(sizes.desk);
  }
});
