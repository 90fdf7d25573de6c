// A server of MCP Apps by the packages of the protocol: its tools show their results on pages (`ui://`) if the client shows pages.

import { RESOURCE_MIME_TYPE, getUiCapability, registerAppResource, registerAppTool } from "@modelcontextprotocol/ext-apps/server";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const PAGE = "ui://weather/dashboard.html";
const UNLISTED = "weather://stations/7";

const server = new McpServer(
  { name: "weather", version: "1.0.0" },
  { capabilities: { tools: { listChanged: true }, resources: { listChanged: true } } },
);

const forecast = async ({ city }) => ({
  content: [
    { type: "text", text: `Rain in ${city}.`, annotations: { audience: ["assistant"], priority: 0.1 } },
    { type: "resource_link", uri: UNLISTED, name: "station", title: "Station 7", description: "Its records", mimeType: "text/plain", size: 12 },
    {
      type: "resource",
      resource: { uri: "weather://map", mimeType: "text/html", text: "<p>", _meta: { ui: { prefersBorder: true } } },
    },
  ],
  structuredContent: { city, degrees: 7.5, hours: [1, 2] },
  _meta: { viewUUID: "3f", "weather.example/source": { station: 7 } },
});

registerAppResource(
  server,
  "Dashboard",
  PAGE,
  { description: "Shows a forecast", _meta: { ui: { csp: { connectDomains: ["https://weather.example"] } } } },
  async () => ({
    contents: [
      {
        uri: PAGE,
        mimeType: RESOURCE_MIME_TYPE,
        text: "<!doctype html><title>Weather</title>",
        _meta: { ui: { csp: { connectDomains: ["https://weather.example"] }, prefersBorder: true } },
      },
    ],
  }),
);

server.server.oninitialized = () => {
  const shown = getUiCapability(server.server.getClientCapabilities());
  const description = "Tells the weather of a city.";
  const inputSchema = z.object({ city: z.string() });
  if (!shown?.mimeTypes?.includes(RESOURCE_MIME_TYPE)) {
    server.registerTool("weather", { description, inputSchema }, forecast);
    return;
  }
  registerAppTool(
    server,
    "weather",
    {
      title: "Weather",
      description,
      inputSchema,
      outputSchema: z.object({ city: z.string(), degrees: z.number(), hours: z.array(z.number()) }),
      annotations: { readOnlyHint: true, title: "The weather" },
      _meta: { ui: { resourceUri: PAGE } },
    },
    forecast,
  );
  // The page calls it, and the model does not see it.
  registerAppTool(
    server,
    "refresh",
    { description: "Reads it again.", _meta: { ui: { resourceUri: PAGE, visibility: ["app"] } } },
    async () => ({ content: [{ type: "text", text: "failed" }, { type: "text", text: "again" }], isError: true, _meta: { tries: 2 } }),
  );
};

await server.connect(new StdioServerTransport());
