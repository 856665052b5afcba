import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { Sluice } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import { type Browsing, browse, chooseBy, choosePayer, findBrowser } from "./browser.ts";
import { pictureAndSound, startStudio } from "./studio.ts";
import { violations } from "./violations.ts";

const token = "the-operators-token";
const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const browserPath = await findBrowser();

describe.if(browserPath !== null)("the playground", () => {
  let sluice: Sluice;
  let browsing: Browsing;
  let page: Page;
  let studio: Bun.Server<undefined>;
  const complaints: string[] = [];

  beforeAll(async () => {
    studio = startStudio();
    const config = (await Bun.file("config/sluice.toml").text()) + pictureAndSound(studio);
    sluice = await Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
    await sluice.createKey({ label: "Browser test", credit: 5 });
    browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    page = await browsing.context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().includes("status of 4"))
        complaints.push(message.text());
    });
    await page.goto(`${sluice.url}/admin/playground`);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    await choosePayer(page, "Browser test");
  }, 300_000);

  afterAll(async () => {
    await browsing[Symbol.asyncDispose]();
    await sluice.dispose();
    await studio.stop(true);
  });

  async function ask(route: string): Promise<void> {
    await page.getByLabel("Route").selectOption({ label: route });
    await page.getByRole("button", { name: "Send" }).click();
  }

  test("asks two models at once, each with its own figures, and stops both", async () => {
    await page.getByLabel("Route").selectOption({ label: "Chat completions" });
    await chooseBy(page, "Model", "demo-small");
    await chooseBy(page, "Compare with", "demo-large");
    await page.getByLabel("Message").fill("say 400 words, slow");
    await page.getByRole("button", { name: "Send" }).click();
    const [small, large] = ["demo-small", "demo-large"].map((name) =>
      page.getByRole("region", { name: `Response from ${name}` }),
    );
    await small?.getByText("The water").waitFor();
    await large?.getByText("The water").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    for (const pane of [small, large]) {
      await pane?.getByText("stopped", { exact: true }).waitFor();
      await pane
        ?.locator("[data-test=cost]")
        .getByText(/^0\.0*[1-9]\d* credits$/)
        .waitFor();
    }
  });

  test("shows vectors, verdicts and rankings of the other routes, and offers only models that serve them", async () => {
    const answer = page.locator("[data-test=answer]");
    await page.getByLabel("Route").selectOption({ label: "Embeddings" });
    await page.getByLabel("Texts, one per line").fill("hello");
    await ask("Embeddings");
    await answer.getByText("64 numbers").waitFor();
    expect(await violations(page), "vectors").toEqual([]);
    await page.getByLabel("Model", { exact: true }).click();
    expect(await page.getByRole("listbox").first().getByRole("option").allInnerTexts()).toEqual([
      "demo-small",
    ]);
    await page.keyboard.press("Escape");
    await page.getByLabel("Texts, one per line").fill("violence");
    await ask("Moderations");
    await answer.getByText("flagged", { exact: true }).waitFor();
    await page.getByLabel("Text", { exact: true }).fill("hello in French");
    await ask("Rerank");
    await answer.locator("li", { hasText: "Bonjour is French for hello." }).first().waitFor();
    expect(await answer.locator("meter").count()).toBe(3);
    expect(await violations(page), "scores").toEqual([]);
    await page.getByLabel("Route").selectOption({ label: "Completions" });
    await page.getByText("No model serves this").waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  });

  test("shows an image, plays sound, and sends a file to be transcribed", async () => {
    const answer = page.locator("[data-test=answer]");
    await page.getByLabel("Route").selectOption({ label: "Images" });
    await page.getByLabel("Image prompt").fill("a lock");
    await ask("Images");
    const width = () => page.evaluate("document.querySelector('.pictures img')?.naturalWidth");
    await waitFor(async () => (await width()) === 2, "the image to be shown");
    expect(await violations(page), "an image").toEqual([]);
    await page.getByLabel("Route").selectOption({ label: "Speech" });
    await page.getByLabel("Text to speak").fill("hello");
    await ask("Speech");
    const seconds = () => page.evaluate("document.querySelector('audio')?.duration");
    await waitFor(async () => Number(await seconds()) > 0.4, "the sound to be loaded");
    expect(await violations(page), "sound").toEqual([]);
    await page.getByLabel("Route").selectOption({ label: "Transcriptions" });
    await page
      .getByLabel("File")
      .setInputFiles({ name: "a.wav", mimeType: "audio/wav", buffer: Buffer.from("x") });
    await ask("Transcriptions");
    await answer.getByText("hello from a file").waitFor();
    expect(complaints).toEqual([]);
  });

  test("says in the main pane what went wrong and what to do, whole and in a stream", async () => {
    const problem = page.locator("[data-test=problem]").last();
    await page.getByLabel("Route").selectOption({ label: "Chat completions" });
    await page.getByLabel("Compare with").fill("");
    await page.getByLabel("Message").fill("fail 404");
    await ask("Chat completions");
    await problem.getByText("upstream_error", { exact: true }).waitFor();
    await problem.getByText("Check `upstream_model` and `base_url`").waitFor();
    await page.getByText("failed", { exact: true }).waitFor();
    expect(await violations(page), "a problem").toEqual([]);
    for (const dialect of ["Chat completions", "Responses", "Google's generateContent", "Messages"]) {
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByLabel("Message").fill("fast, break");
      await ask(dialect);
      await page.getByText("broken", { exact: true }).waitFor();
      await problem.getByText("was interrupted").first().waitFor();
    }
  });

  const picture = { name: "a.png", mimeType: "image/png", buffer: Buffer.from(onePixel, "base64") };
  const tools = {
    "Chat completions": [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }],
    Responses: [{ type: "function", name: "look_up", parameters: { type: "object" } }],
    "Google's generateContent": [
      { functionDeclarations: [{ name: "look_up", parameters: { type: "object" } }] },
    ],
    Messages: [{ name: "look_up", input_schema: { type: "object" } }],
  };
  test.each(Object.entries(tools))("holds a conversation of several turns by %s", async (dialect, list) => {
    const sent: string[] = [];
    page.on("request", (request) => {
      if (/^\/v1(?:beta)?\//.test(new URL(request.url()).pathname)) sent.push(request.postData() ?? "");
    });
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByLabel("Route").selectOption({ label: dialect });
    const done = page.getByText("done", { exact: true });
    await page.getByLabel("System").fill("Be brief.");
    await page.getByLabel("Message").fill("What is this?");
    await page.getByLabel("Add images").setInputFiles(picture);
    await page.getByRole("button", { name: "Remove a.png" }).waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await done.waitFor();
    if (!(await page.getByLabel("Tools as JSON").isVisible()))
      await page.getByText("Tools", { exact: true }).click();
    await page.getByLabel("Tools as JSON").fill("[not json");
    await page.getByLabel("Message").fill("Look it up.");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("Tools are not a JSON list").waitFor();
    await page.getByLabel("Tools as JSON").fill(JSON.stringify(list));
    await page.getByRole("button", { name: "Send" }).click();
    await page.locator("[data-test=call]").getByText("look_up({").waitFor();
    await page.getByLabel("Result of the tool").fill("It is a lock.");
    await page.getByRole("button", { name: "Send" }).click();
    await done.nth(2).waitFor();
    expect(await violations(page), dialect).toEqual([]);
    await page.getByLabel("Tools as JSON").fill("");
    expect(sent).toHaveLength(3);
    const last = sent.at(-1) ?? "";
    for (const part of ["Be brief.", "What is this?", onePixel, "Look it up.", "look_up", "It is a lock."])
      expect(last).toContain(part);
  });

  test("shows the request as programs without the key, one of which sends it", async () => {
    await page.getByText("Code", { exact: true }).click();
    const code = page.locator("[data-test=code]");
    await page.getByRole("radio", { name: "TypeScript" }).check();
    await code.getByText("await client.messages.create({").waitFor();
    await page.getByRole("radio", { name: "Python" }).check();
    await code.getByText("client.messages.create(").waitFor();
    await page.getByRole("radio", { name: "curl" }).check();
    await page.getByRole("button", { name: "Copy code" }).click();
    const copied = String(await page.evaluate("navigator.clipboard.readText()"));
    const key = await sluice.createKey({ credit: 1 });
    const process = Bun.spawn(["bash", "-c", copied], {
      env: { PATH: Bun.env["PATH"] ?? "", SLUICE_KEY: key.key },
      stderr: "ignore",
    });
    expect(await new Response(process.stdout).text()).toContain("message_stop");
    await page.getByText("Code", { exact: true }).click();
  });

  test("charges an account by its key for the playground, and asks for no other secret within the hour", async () => {
    const account = await sluice.cliJson<{ id: string }>(
      "accounts",
      "create",
      "--mode",
      "credit",
      "--label",
      "Research",
      "--credit",
      "3",
    );
    await page.goto(`${sluice.url}/admin/playground?account=${account.id}`);
    const issued: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/playground/keys")) issued.push(request.postData() ?? "");
    });
    for (const message of ["One", "Two"]) {
      await page.getByLabel("Message").fill(message);
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByRole("button", { name: "Send" }).waitFor();
    }
    await page.getByRole("button", { name: "Clear" }).click();
    expect(issued).toEqual([JSON.stringify({ account: account.id })]);
    const keys = await sluice.cliJson<readonly { label: string; account: string }[]>("keys", "list");
    expect(keys.filter((key) => key.account === account.id).map(({ label }) => label)).toEqual([
      "Playground",
    ]);
  });

  test("takes a key to the routes of its mode, and never shows the page its secret", async () => {
    const budget = await sluice.createKey({ mode: "token_budget", label: "By tokens" });
    await page.getByLabel("Route").selectOption({ label: "Chat completions" });
    await page.getByLabel("Message").fill("hello");
    await page.getByText("POST /v1/chat/completions").waitFor();
    await choosePayer(page, "By tokens");
    await page.getByText("POST /token/v1/chat/completions").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("done", { exact: true }).last().waitFor();
    const requests = await sluice.cliJson<readonly object[]>("requests", "list", "--key", budget.id);
    expect(requests).toHaveLength(1);
  });

  test("opens from the Models page with a route that the model serves; that page has its price, too", async () => {
    await page.goto(`${sluice.url}/admin/models`);
    const row = page.getByRole("row", { name: /^studio/ });
    await row.getByText("$0.04 per image").waitFor();
    await row.getByRole("link", { name: "studio" }).click();
    const prices = page.locator("section", { has: page.getByRole("heading", { name: "Prices" }) });
    await prices.getByRole("row").nth(3).waitFor();
    expect(await prices.getByRole("row").allInnerTexts()).toEqual([
      "Price of\tUSD",
      "Images\t$0.04\nper image",
      "Characters\t$15.00\nper million characters",
      "Audio\t$0.006\nper minute",
    ]);
    await page.getByRole("button", { name: "Try" }).click();
    await page.getByText("POST /v1/images/generations").waitFor();
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("studio");
  });
});
