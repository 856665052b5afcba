import { bundlePage } from "./bundle.ts" with { type: "macro" };

/** The whole page inside this module, compressed, as base64. Import it lazily: it is large, and most commands never need it. */
export const page: { readonly script: string; readonly style: string } = bundlePage();
