import { unreachable } from "../base/assert.ts";
import type { ProviderSettings } from "../config/settings.ts";
import type { Dial } from "../wire/http-client.ts";
import { DemoProvider } from "./demo/provider.ts";
import { HttpProvider } from "./http-provider.ts";
import type { Provider } from "./provider.ts";
import { anthropic, openAi } from "./vendors.ts";

/** Every kind of provider there is. A new kind is a line here. */
export function createProvider(settings: ProviderSettings, dial?: Dial): Provider {
  switch (settings.kind) {
    case "openai":
    case "openai-compatible":
      return new HttpProvider(settings, openAi, dial);
    case "anthropic":
      return new HttpProvider(settings, anthropic, dial);
    case "demo":
      return new DemoProvider(settings);
    default:
      return unreachable(settings.kind);
  }
}
