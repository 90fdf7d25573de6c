// What a person sees of a screen. `inspector.py` puts these functions into the page as `screens`, and asks for what they find.
window.screens = (() => {
  const seen = (selector) =>
    [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());

  /** Returns the texts in sight that are no code, with the element around each. */
  function texts(within) {
    const found = [];
    for (const root of seen(within)) {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        const isText = parent.checkVisibility() && !parent.closest("pre, code, option, .digest, .unseen, noscript");
        if (isText && walker.currentNode.data.trim()) found.push(walker.currentNode);
      }
    }
    return found;
  }

  /** Returns the boxes of a part of a text. */
  function boxes(text, from, to) {
    const range = document.createRange();
    range.setStart(text, from);
    range.setEnd(text, to);
    return [...range.getClientRects()].filter((box) => box.width > 0);
  }

  const rows = (found) => new Set(found.map((box) => Math.round(box.top))).size;

  /** Returns the words of up to 24 letters that go on in another line. A line may end after a sign. */
  function brokenWords() {
    const broken = [];
    for (const text of texts("main, header")) {
      for (const word of text.data.matchAll(/[\p{L}\p{N}]+/gu)) {
        if (word[0].length > 24) continue;
        const found = boxes(text, word.index, word.index + word[0].length);
        if (rows(found) > 1) broken.push(word[0]);
      }
    }
    return broken;
  }

  /** Returns the characters of each line of the elements. */
  function lines(selector) {
    return seen(selector).map((element) => {
      const counts = new Map();
      for (const text of texts("main").filter((one) => element.contains(one))) {
        for (const word of text.data.matchAll(/\S+\s*/gu)) {
          const [box] = boxes(text, word.index, word.index + word[0].trimEnd().length);
          const top = box && Math.round(box.bottom / 4);
          if (box) counts.set(top, (counts.get(top) ?? 0) + word[0].length);
        }
      }
      return [...counts.values()];
    });
  }

  /** Returns the lines of text with more than 80 characters. */
  function longLines() {
    const elements = "main p, main li, main .hint, main .problem";
    const found = seen(elements).filter((element) => !element.closest("[role=option], .bars"));
    found.forEach((element, at) => element.setAttribute("data-line", at));
    const long = found.filter((_, at) => lines(`[data-line="${at}"]`)[0].some((count) => count > 80));
    return long.map((element) => element.innerText);
  }

  /** Returns the columns of tables whose cells do not stand below their heading. */
  function misaligned() {
    const isNumber = (cell) => /^(\$?[\d.,]+( (ns|µs|ms|s))?|unknown|of each call)$/.test(cell.innerText);
    const edges = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const found = [...range.getClientRects()].filter((box) => box.width > 0);
      return { left: Math.min(...found.map((box) => box.left)), right: Math.max(...found.map((box) => box.right)) };
    };
    const wrong = [];
    for (const table of seen("main table")) {
      [...table.tHead.rows[0].cells].forEach((head, at) => {
        const cells = [...table.tBodies[0].rows].map((row) => row.cells[at]).filter((cell) => cell.innerText.trim());
        const side = cells.length > 0 && cells.every(isNumber) ? "right" : "left";
        const isStraight = cells.every((cell) => Math.abs(edges(cell)[side] - edges(head)[side]) < 1.5);
        const isTabular = cells.every((cell) => getComputedStyle(cell).fontVariantNumeric.includes("tabular-nums"));
        if (!isStraight || !isTabular) wrong.push(head.innerText);
      });
    }
    return wrong;
  }

  /** Returns the controls without a label in sight. */
  function unlabelled() {
    const isSeen = (label) => label.checkVisibility() && label.innerText.trim() && !label.closest(".unseen");
    return seen("input, select, textarea")
      .filter((control) => ![...control.labels].some(isSeen))
      .map((control) => `${control.localName} ${control.ariaLabel ?? control.id}`);
  }

  /** Returns the height of a list that has no row in it, in pixels. */
  function emptyFoot(id) {
    const list = document.getElementById(id);
    return list.clientHeight - Math.min(list.clientHeight, list.firstElementChild.offsetHeight);
  }

  /** Returns the size of the smallest text of the charts on the screen, in pixels, and the height of the thinnest bar. */
  function charts() {
    const sizes = texts("#charts .chart").map((text) => {
      const parent = text.parentElement;
      const scale = parent.getScreenCTM?.().a ?? 1;
      return scale * parseFloat(getComputedStyle(parent).fontSize);
    });
    const bars = seen("#charts rect, #charts .amount").map((bar) => bar.getBoundingClientRect().height);
    return { text: Math.min(...sizes), bar: Math.min(...bars) };
  }

  /** Returns the first rows of the waterfall, with the place of each bar as a part of its track. */
  function waterfall(count) {
    const found = seen("#span-list [role=option]").sort((a, b) => a.ariaPosInSet - b.ariaPosInSet);
    return found.slice(0, count).map((row) => {
      const track = row.querySelector(".track").getBoundingClientRect();
      const bar = row.querySelector(".bar").getBoundingClientRect();
      return {
        name: row.querySelector("bdi").innerText,
        kind: row.querySelector(".kind").innerText,
        indent: parseFloat(row.querySelector(".one").style.paddingLeft),
        start: (bar.left - track.left) / track.width,
        end: (bar.right - track.left) / track.width,
      };
    });
  }

  const ELEMENTS = /^(button|code|dd|details|div|dl|dt|fieldset|figcaption|figure|h2|h3|img|input|label|legend|li|option|p|pre|section|select|span|strong|summary|table|tbody|td|textarea|th|thead|tr|ul|wbr)$/;

  /** Shows each text at every place of a response, a form and a table. Returns what became more than a text. */
  async function hostile(payloads) {
    const [{ responseView }, { ArgumentsForm }, elements] = await Promise.all(
      ["/response.js", "/form.js", "/elements.js"].map((path) => import(path)),
    );
    const stage = document.createElement("div");
    document.body.append(stage);
    const wrong = [];
    for (const payload of payloads) {
      const meta = {
        durationMs: 1, sizeChars: 1, tokenEstimate: 1, warnings: [payload], coerced: [payload],
        problems: [{ pointer: payload, expected: payload, got: payload, hint: payload }],
      };
      const image = (mimeType, data) => ({ type: "image", mimeType, data });
      const parts = [
        image(payload, "AAAA"), image("image/png", payload), image("image/svg+xml", btoa("<svg onload='owned=1'/>")),
        { type: "text", text: payload }, { type: "audio", mimeType: payload, data: payload },
        { type: "resource", uri: payload, mimeType: payload, text: payload }, { type: payload },
      ];
      const intents = [payload];
      const answers = [
        { model: payload, content: parts, envelope: { ok: true, data: payload, intents, meta } },
        { model: payload, envelope: { ok: true, data: { [payload]: payload }, meta } },
        { model: payload, envelope: { ok: false, error: { type: payload, message: payload }, meta } },
        { model: payload, envelope: { ok: false, error: { type: payload, message: payload }, meta: { ...meta, problems: [] } } },
      ];
      const member = {
        type: "string", title: payload, description: payload, pattern: payload, format: payload,
        default: payload, minLength: payload,
      };
      const schema = {
        type: "object", properties: {
          [payload]: member, choice: { enum: [payload], description: payload },
          union: { anyOf: [{ title: payload, type: "object", properties: { [payload]: member } }, { const: payload }] },
          map: { type: "object", additionalProperties: member, default: { [payload]: payload } },
        },
      };
      const form = new ArgumentsForm(schema, [payload]);
      form.write(JSON.stringify({ [payload]: payload, map: { [payload]: payload }, union: { [payload]: payload } }));
      form.read();
      form.show([{ pointer: `/${payload}`, expected: payload, got: payload }]);
      stage.replaceChildren(
        ...answers.map((response) => responseView({ response }, null)),
        form.node, ...elements.prose(payload), elements.factList([[payload, payload]]),
        elements.table(payload, [elements.textColumn(payload)], [[payload]]),
      );
      for (const element of stage.querySelectorAll("*")) {
        const listens = [...element.attributes].some(({ name }) => name.startsWith("on"));
        const isForeign = !ELEMENTS.test(element.localName);
        const loads = element.localName === "img" && !/^data:image\/(png|jpeg|gif|webp|avif|bmp);base64,[A-Za-z0-9+/]+=*$/.test(element.src);
        if (listens || isForeign || loads) wrong.push(`${payload}: ${element.outerHTML.slice(0, 200)}`);
      }
    }
    stage.remove();
    return { wrong, owned: window.owned ?? null };
  }

  return { hostile, brokenWords, lines, longLines, misaligned, unlabelled, emptyFoot, charts, waterfall };
})();
