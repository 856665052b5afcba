import { unreachable } from "../base/assert.ts";
import type { ProviderSettings } from "../config/settings.ts";
import { DemoProvider } from "./demo/provider.ts";
import { HttpProvider } from "./http-provider.ts";
import type { Provider } from "./provider.ts";
import { anthropic, openAi } from "./vendors.ts";

/** Every kind of provider there is. A new kind is a line here. */
export function createProvider(settings: ProviderSettings): Provider {
  switch (settings.kind) {
    case "openai":
    case "openai-compatible":
      return new HttpProvider(settings, openAi);
    case "anthropic":
      return new HttpProvider(settings, anthropic);
    case "demo":
      return new DemoProvider(settings);
    default:
      return unreachable(settings.kind);
  }
}
