import type { ImportedModel } from "./imported.ts";

/** LiteLLM has an entry for each quality and size of an image: `hd/1024-x-1792/dall-e-3`. */
const variantName = /^(?:(?<quality>[a-z0-9]+)\/)?(?<width>\d+)-x-(?<height>\d+)\/(?<model>[^/]+)$/;

/** Used if neither the name nor the file states the size. */
const defaultPixels = 1024 * 1024;

/** The number of pixels that an entry's price is for. */
export function pixelsOf(id: string): number {
  const { width, height } = variantName.exec(id)?.groups ?? {};
  return width === undefined ? defaultPixels : Number(width) * Number(height);
}

/** Merges the prices of image variants into their models; the variants are not models themselves. */
export function withImageVariants(models: readonly ImportedModel[]): ImportedModel[] {
  const families = Map.groupBy(models, ({ id, vendor }) => `${vendor} ${modelOf(id)}`);
  return [...families.values()].flatMap((family) => {
    const { variants = [], others = [] } = Object.groupBy(family, ({ id, serves }) =>
      serves === "images" && variantName.test(id) ? "variants" : "others",
    );
    const [first] = variants;
    const [usual = null, ...rest] = others;
    return first === undefined ? others : [withVariantPrices(usual, [first, ...variants.slice(1)]), ...rest];
  });
}

function modelOf(id: string): string {
  return variantName.exec(id)?.groups?.["model"] ?? id;
}

/** Token prices need no variants. A variant without its own price costs as much as the most expensive one. */
function withVariantPrices(
  usual: ImportedModel | null,
  variants: readonly [ImportedModel, ...ImportedModel[]],
): ImportedModel {
  const model = usual ?? variants[0];
  const price = usual?.price.images;
  if (usual !== null && typeof price !== "number") return usual;
  const images: Record<string, number> = typeof price === "number" ? { "auto/auto": price } : {};
  for (const variant of variants) {
    const { quality = "standard", width, height } = variantName.exec(variant.id)?.groups ?? {};
    // A request without a quality gets the standard one.
    const names = quality === "standard" ? [quality, "auto"] : [quality];
    if (typeof variant.price.images !== "number") continue;
    for (const name of names) images[`${name}/${width}x${height}`] = variant.price.images;
  }
  if (Object.keys(images).length === 0) return { ...model, id: modelOf(model.id) };
  images["*"] = Math.max(...Object.values(images));
  return { ...model, id: modelOf(model.id), price: { images } };
}
