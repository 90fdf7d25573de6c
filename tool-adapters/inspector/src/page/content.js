// Parts of results: texts, pictures, sounds and links.

import { code, el, note } from "./elements.js";

/** The types of pictures that the page shows. SVG is a document, so it stays a text. */
const PICTURES = new Set([
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "image/avif",
  "image/bmp",
]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const isBase64 = (data) => data.length % 4 === 0 && BASE64.test(data);
/** The most characters of base64 that the page shows as a picture. */
const MAX_PICTURE = 16_000_000;

/** Shows the parts of a result in their order. */
export function partsView(parts) {
  return el("div", { class: "parts" }, ...parts.map(partView));
}

/** Returns the parts that the JSON of a result consists of, or null for any other value. */
export function partsIn(value) {
  const isPart = (one) =>
    (one?.type === "text" && typeof one.text === "string") ||
    (["image", "audio"].includes(one?.type) && typeof one.data === "string") ||
    (one?.type === "resource" && typeof one.uri === "string");
  return Array.isArray(value) && value.length > 0 && value.every(isPart) ? value : null;
}

function partView(part, at) {
  switch (part.type) {
    case "text":
      return el("p", { class: "text" }, part.text);
    case "image":
      return pictureView(part, at + 1);
    case "audio":
      return note(`Sound, ${part.mimeType}, ${size(part.data)}. The page plays no sounds.`);
    case "resource":
      return resourceView(part);
    default:
      return code(JSON.stringify(part), "Part of the result");
  }
}

function pictureView({ data, mimeType }, number) {
  const about = `${mimeType}, ${size(data)}`;
  const isShown = PICTURES.has(mimeType) && data.length <= MAX_PICTURE && isBase64(data);
  if (!isShown) return note(`Picture, ${about}. The page does not show such a picture.`);

  const caption = el("figcaption", { class: "dim" }, about);
  const image = el("img", { alt: `Picture ${number} of the result`, decoding: "async" });
  image.addEventListener("load", () => {
    caption.textContent = `${about}, ${image.naturalWidth} × ${image.naturalHeight} pixels`;
  });
  image.addEventListener("error", () => {
    image.replaceWith(note("The bytes are not a picture of this type."));
  });
  image.src = `data:${mimeType};base64,${data}`;
  return el("figure", { class: "picture" }, image, caption);
}

/** Returns the size of base64 in words. */
function size(data) {
  const padding = data.endsWith("==") ? 2 : Number(data.endsWith("="));
  const bytes = Math.floor((data.length * 3) / 4) - padding;
  return bytes < 1_000 ? `${bytes} bytes` : `${(bytes / 1_000).toFixed(1)} kB`;
}

function resourceView({ uri, mimeType, text }) {
  const title = [`Resource ${uri}`, mimeType].filter(Boolean).join(", ");
  return el("div", {}, el("p", { class: "text" }, title), text ? code(text, title) : null);
}
