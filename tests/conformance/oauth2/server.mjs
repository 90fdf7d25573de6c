// An authorisation server to hold our OAuth 2 client against: npm's `oidc-provider`, certified by the OpenID Foundation.
//
//     node server.mjs        prints one line, its address, and serves until it is killed
//
// Refresh tokens are good once; one that is used again takes the whole grant back. `agents` has access tokens that live
// an hour, those of `agents-short` live 6 seconds.
//
// Servers of the Model Context Protocol are resources (RFC 8707): tokens for one are JWTs, or opaque if its path ends with
// `/opaque`, and live 6 seconds if it ends with `/short`. Clients may register themselves (RFC 7591), `machine` gets tokens
// without a person, and `resource` may ask about tokens. Beside the server's own pages there are
//
//     /calendar    answers to a good access token (401 otherwise), as a service would
//     /counters    how many codes and refresh tokens were exchanged, refused, and how many grants taken back

import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const HOST = '127.0.0.1';
const server = createServer();
await new Promise((ready) => server.listen(0, HOST, ready));
const issuer = `http://${HOST}:${server.address().port}`;

const client = (client_id, more = {}) => ({
  client_id,
  client_secret: 'the secret of the client, 32 bytes',
  // Of an app on this machine: any port will do.
  application_type: 'native',
  redirect_uris: [`http://${HOST}/callback`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  ...more,
});

const provider = new Provider(issuer, {
  clients: [
    client('agents'),
    client('agents-short'),
    client('agents-body', { token_endpoint_auth_method: 'client_secret_post' }),
    client('agents-public', { client_secret: undefined, token_endpoint_auth_method: 'none' }),
    client('machine', { redirect_uris: [], grant_types: ['client_credentials'], response_types: [] }),
    client('resource', { redirect_uris: [], grant_types: [], response_types: [] }),
  ],
  scopes: ['calendar.events', 'calendar.readonly', 'mcp.read', 'mcp.write', 'offline_access'],
  pkce: { required: () => true },
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === 'resource' },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope: 'mcp.read mcp.write',
        accessTokenFormat: resource.endsWith('/opaque') ? 'opaque' : 'jwt',
        accessTokenTTL: resource.endsWith('/short') ? 6 : 3600,
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
    revocation: { enabled: true },
  },
  issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: () => true,
  ttl: {
    AccessToken: (_, token, client) => token.resourceServer?.accessTokenTTL ?? (client.clientId === 'agents-short' ? 6 : 3600),
    ClientCredentials: 3600,
    AuthorizationCode: 60,
    Grant: 3600,
    Interaction: 600,
    RefreshToken: 3600,
    Session: 3600,
  },
  cookies: { keys: ['a key of the test server'] },
});

const counters = { authorization_code: 0, client_credentials: 0, refresh_token: 0, refused: 0, revoked: 0 };
provider.on('grant.success', (ctx) => { counters[ctx.oidc.params.grant_type] += 1; });
provider.on('grant.error', () => { counters.refused += 1; });
provider.on('grant.revoked', () => { counters.revoked += 1; });

const json = (response, status, value) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};
const oidc = provider.callback();
server.on('request', async (request, response) => {
  switch (request.url) {
    case '/counters':
      return json(response, 200, counters);
    case '/calendar': {
      const [, token] = (request.headers.authorization ?? '').split('Bearer ');
      const found = token && await provider.AccessToken.find(token);
      return found && !found.isExpired
        ? json(response, 200, { client: found.clientId, scope: found.scope })
        : json(response, 401, { error: 'invalid_token' });
    }
    default:
      return oidc(request, response);
  }
});

console.log(issuer);
