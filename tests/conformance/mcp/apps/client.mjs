// A host of MCP Apps by the packages of the protocol: reads what it shows of a server, and writes it as JSON.
//
//     node client.mjs URL
//     node client.mjs COMMAND [ARGUMENT..]

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { RESOURCE_MIME_TYPE, getToolUiResourceUri, isToolVisibilityAppOnly } from "@modelcontextprotocol/ext-apps/app-bridge";

const [first, ...rest] = process.argv.slice(2);
const transport = first.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest, stderr: "ignore" });
const client = new Client(
  { name: "host", version: "1.0.0" },
  { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } } },
);
await client.connect(transport);

const { tools } = await client.listTools();
const { resources } = await client.listResources();
const weather = tools.find((tool) => tool.name === "weather");
const page = getToolUiResourceUri(weather);
const called = await client.callTool({ name: "weather", arguments: { city: "Bergen" } });
const shown = {
  tools,
  resources,
  ofApp: tools.filter(isToolVisibilityAppOnly).map((tool) => tool.name),
  page,
  contents: await client.readResource({ uri: page }),
  called,
  refreshed: await client.callTool({ name: "refresh", arguments: {} }),
};
console.log(JSON.stringify(shown));
await client.close();
