// The least contrast of text against what is behind it, as WCAG has it, and how many texts there are.
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const drawn = new Map();
  const rgba = (color) => {
    if (!drawn.has(color)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      drawn.set(color, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return drawn.get(color);
  };
  const luminance = ([r, g, b]) => {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let [least, worst, count] = [Infinity, null, 0];
  const known = new Map();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const colors = [rgba(getComputedStyle(element).color), behind(element)];
    const key = colors.join();
    if (!known.has(key)) {
      const [light, dark] = colors.map(luminance).sort((a, b) => b - a);
      known.set(key, (light + 0.05) / (dark + 0.05));
    }
    count += 1;
    if (known.get(key) < least) [least, worst] = [known.get(key), texts.currentNode.data];
  }
  return { least, worst, count, back: rgba(getComputedStyle(document.body).backgroundColor) };
})()
