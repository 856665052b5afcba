import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { builtInConfig } from "../../src/config/source.ts";
import { startProvider } from "../support/provider.ts";
import { Sluice } from "../support/sluice.ts";
import { browse, findBrowser } from "./browser.ts";

const token = "the-operators-token";
const browserPath = await findBrowser();

describe.if(browserPath !== null)("the first page of an empty gateway", () => {
  test("is a check list with commands, which marks what is done and can be hidden", async () => {
    const vendor = startProvider();
    const provider = `kind = "openai"\nbase_url = "${vendor.url}/v1"\napi_key = "env:TEST_OPENAI_KEY"\nmodels = ["gpt-6-luna"]`;
    const config = `${builtInConfig}\n[providers.openai]\n${provider}\n`;
    await using sluice = await Sluice.start({ config, env: { SLUICE_ADMIN_TOKEN: token } });
    await using browsing = await browse(browserPath ?? "", { scheme: "light", width: 1360, height: 850 });
    const page = await browsing.context.newPage();
    await page.goto(`${sluice.url}/admin`);
    await page.getByLabel("Admin token").fill(token);
    await page.keyboard.press("Enter");
    const list = page.locator("[data-test=setup]");
    await list.getByText("0 of 5 done").waitFor();
    expect(await list.locator("[data-test=setup-provider] code").textContent()).toBe("sluice models check");
    expect(await list.locator("li code").count()).toBe(4);
    const key = await sluice.createKey();
    const body = { model: "gpt-6-luna", messages: [{ role: "user", content: "hi" }] };
    expect((await sluice.request("/v1/chat/completions", { key, body })).status).toBe(200);
    await list.getByText("3 of 5 done").waitFor();
    expect(await list.locator("[data-test=setup-provider] code").count()).toBe(0);
    expect((await sluice.cli("backup", join(sluice.folder, "copy.db"))).code).toBe(0);
    await list.getByText("4 of 5 done").waitFor();
    await list.getByRole("button", { name: "Hide" }).click();
    await list.waitFor({ state: "detached" });
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    expect(await list.count()).toBe(0);
    vendor.stop();
  }, 120_000);
});
