// What a reader sees of the page: the value of this expression is read by `report.py`.
(() => {
  const rect = (element) => {
    const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
    return { left, top, right, bottom, width, height };
  };
  const text = (element) => element?.innerText ?? null;
  const money = (element) => element && { text: text(element), value: element.value };
  const time = (element) => element && { text: text(element), datetime: element.dateTime };
  const row = (item) => {
    const line = item.querySelector("summary");
    return {
      span: item.dataset.span,
      parent: item.parentElement.closest("li")?.dataset.span ?? null,
      kind: text(line.querySelector(".kind")),
      name: text(line.querySelector(".name")),
      marks: [...line.querySelectorAll(".mark")].map(text),
      facts: Object.fromEntries([...item.querySelectorAll(":scope > .span dt")].map((name) => [name.textContent, name.nextSibling.textContent])),
      cost: money(line.querySelector("data")),
      time: time(line.querySelector("time")),
    };
  };
  const bar = (track) => {
    const [bar, line] = [track.querySelector(".bar"), track.closest("li")];
    track.scrollIntoView({ block: "center" });
    const box = rect(bar);
    const middle = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    const style = getComputedStyle(bar);
    return {
      span: line.dataset.span, bar: box, track: rect(track), hit: middle === bar, visible: bar.checkVisibility(),
      paint: style.backgroundColor + style.backgroundImage, opacity: style.opacity, name: text(line.querySelector(".name")),
    };
  };
  const table = (table) => ({
    head: [...table.tHead.rows[0].cells].map(text),
    scopes: [...table.querySelectorAll("th")].map((cell) => cell.scope),
    caption: text(table.caption),
    rows: [...table.tBodies[0].rows].map((row) => ({ cost: money(row.querySelector("data")), cells: [...row.cells].map(text) })),
  });
  const all = (selector, of) => [...document.querySelectorAll(selector)].map(of);
  // Each bar is scrolled into sight, so of many, some are read.
  const tracks = [...document.querySelectorAll(".track")];
  const step = Math.ceil(tracks.length / 1000);
  return {
    title: document.title, language: document.documentElement.lang, owned: window.owned ?? null,
    elements: [...new Set(all("body *", (element) => element.localName))],
    handlers: all("*", (element) => [...element.attributes].filter(({ name }) => name.startsWith("on")).length).reduce((a, b) => a + b, 0),
    headings: all("h1, h2, h3, h4", (heading) => [Number(heading.localName[1]), text(heading)]),
    figures: Object.fromEntries(all(".figures > div", (box) => [box.id, { text: text(box.querySelector("dd")), value: box.querySelector("data")?.value ?? null }])),
    notes: all(".note", text),
    tree: all(".tree li", row),
    bars: tracks.filter((_, at) => at % step === 0).map(bar),
    tables: Object.fromEntries(all("table", (of) => [of.id, table(of)])),
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
})()
