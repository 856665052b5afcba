import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { clientSnippets } from "../../src/base/models/client-snippets.ts";
import { Sluice, type TestKey } from "../support/sluice.ts";
import { type Browsing, browse, findBrowser } from "./browser.ts";
import { violations } from "./violations.ts";

const browserPath = await findBrowser();

describe.if(browserPath !== null)("the self-service page", () => {
  let sluice: Sluice;
  let key: TestKey;
  let browsing: Browsing;
  let page: Page;

  beforeAll(async () => {
    sluice = await Sluice.start();
    key = await sluice.cliJson(
      "keys",
      "create",
      "--mode",
      "credit",
      "--credit",
      "5",
      "--cap",
      "2/day",
      "--label",
      "Ada's",
    );
    await sluice.createKey({ label: "somebody else's" });
    const body = { model: "demo-small", messages: [{ role: "user", content: "Hello" }] };
    await (await sluice.request("/v1/chat/completions", { key, body })).text();
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
  });
  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
  });

  async function shown(): Promise<void> {
    await page.goto(`${sluice.url}/usage`);
    await page.getByLabel("API key").fill(key.key);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Ada's" }).waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
  }

  test.each([
    { colorScheme: "dark", width: 390, height: 844 },
    { colorScheme: "light", width: 1360, height: 850 },
  ] as const)("passes axe before and after a key was shown, $colorScheme, $width wide", async (look) => {
    await page.setViewportSize(look);
    await page.emulateMedia(look);
    await page.goto(`${sluice.url}/usage`);
    await page.getByLabel("API key").waitFor();
    expect(await violations(page)).toEqual([]);
    await shown();
    expect(await violations(page)).toEqual([]);
  });

  test.each([390, 960, 1360, 1920])(
    "is as wide as the window or its own width, centred, at %d",
    async (width) => {
      await page.setViewportSize({ width, height: 850 });
      await shown();
      const box = await page.locator("main").boundingBox();
      expect(box?.width).toBe(Math.min(width, 1080) - 32);
      expect(box?.x).toBe(Math.max(0, (width - 1080) / 2) + 16);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    },
  );

  test("shows a pasted key's balance, caps, spend and exchanges, and nothing of other keys", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await shown();
    await page.locator("canvas").first().waitFor();
    const text = await page.locator("main").textContent();
    expect(text).toContain("of 5.00 credits");
    expect(text).toContain("2.00 credits per day");
    expect(text).toContain("demo-small");
    expect(text).not.toContain("somebody else");
    expect(await page.locator("meter").count()).toBe(1);
    expect(
      asked.filter((path) => path.startsWith("/admin/api/v1/") && path !== "/admin/api/v1/session"),
    ).toEqual([]);
  });

  test("has a snippet for every client, with the key and the address in it", async () => {
    await shown();
    const names = await page.getByLabel("Client").locator("option").allInnerTexts();
    expect(names).toEqual(clientSnippets.map(({ name }) => name));
    for (const name of names) {
      await page.getByLabel("Client").selectOption(name);
      const snippet = (await page.locator(".snippet").textContent()) ?? "";
      expect(snippet).toContain(key.key);
      expect(snippet).toContain(sluice.url);
    }
    await page.getByLabel("Client").selectOption("curl");
    const typed = Bun.spawn(["bash", "-c", (await page.locator(".snippet").textContent()) ?? ""], {
      stderr: "ignore",
    });
    expect(await new Response(typed.stdout).text()).toContain('"chat.completion"');
  });

  test("why an exchange ended as it did opens in place", async () => {
    await shown();
    await page.locator("section", { hasText: "Newest requests" }).locator("td.lead a").first().click();
    await page.getByRole("dialog").getByRole("heading", { name: "Timeline" }).waitFor();
  });

  test("is searched from the keyboard: own requests and actions", async () => {
    await shown();
    const field = page.getByRole("combobox", { name: "Search everything" });
    const about = (await page.locator("td.lead a").first().getAttribute("href")) ?? "";
    const id = new URLSearchParams(about.slice(about.indexOf("?"))).get("open") ?? "";
    await page.keyboard.press("/");
    await page.getByRole("option", { name: /^Ada's key slu_/ }).waitFor();
    await field.fill(id);
    await page.getByRole("option", { name: /request$/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("heading", { name: "Timeline" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await field.fill("sign out");
    await page.getByRole("option", { name: /^Sign out/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByLabel("API key").waitFor();
  });

  test("a pasted key only reads, and a reload forgets it", async () => {
    await shown();
    await page.getByText("Newest requests").waitFor();
    expect(await page.getByRole("button", { name: "Rotate" }).count()).toBe(0);
    await page.reload();
    await page.getByLabel("API key").waitFor();
  });

  test("a wrong key is told so, in the server's words", async () => {
    await page.goto(`${sluice.url}/usage`);
    await page.getByLabel("API key").fill("slu_wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("Unknown key.").waitFor();
  });

  test("who is signed in makes and rotates a key where that is allowed, and is told who does where it is not", async () => {
    const people = '[admin]\nmembers = "everyone"\nuser_header = "x-forwarded-email"\n';
    const head = `[server]\ntrusted_proxies = ["127.0.0.1"]\n\n${people}`;
    const demo = '\n[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nfree = true\n';
    await using own = await Sluice.start({ config: head + demo });
    await own.cliJson(..."accounts create --mode credit --label crowd --postpaid".split(" "));
    const theirs = await browsing.context.newPage();
    await theirs.setExtraHTTPHeaders({ "x-forwarded-email": "dora@example.com" });
    await theirs.goto(`${own.url}/usage`);
    await theirs.getByText("Ask an operator to create one with the owner dora@example.com.").waitFor();
    await own.reload(`${head}member_keys = { account = "crowd", cap = "5/day" }\n${demo}`);
    await theirs.reload();
    await theirs.getByText("Create one. It is shown only once.").waitFor();
    await theirs.getByRole("button", { name: "New key" }).click();
    await theirs.getByLabel("Label").fill("Dora's");
    await theirs.getByRole("button", { name: "Create key" }).click();
    await theirs.getByRole("dialog").getByRole("button", { name: "Done" }).click();
    await theirs.getByRole("heading", { level: 1, name: "Dora's" }).waitFor();
    await theirs.getByRole("button", { name: "Rotate" }).click();
    await theirs.getByRole("dialog").getByRole("button", { name: "Rotate" }).click();
    const secret = (await theirs.locator("[data-test=secret]").textContent()) ?? "";
    await theirs.keyboard.press("Escape");
    await theirs.keyboard.press("Escape");
    // Nor is it lost while nothing in the dialog has the focus.
    await theirs.evaluate("document.activeElement?.blur()");
    await theirs.keyboard.press("Escape");
    await theirs.keyboard.press("Escape");
    expect(await theirs.locator("[data-test=secret]").isVisible()).toBe(true);
    await theirs.getByRole("dialog").getByRole("button", { name: "Done" }).click();
    expect((await own.request("/v1/usage", { key: { ...key, key: secret } })).status).toBe(200);
    await theirs.close();
  });
});
