/**
 * A credential was known by the last word of its name, so one whose words are written together (`accesskey`) was taken for a plain
 * constant: shown to administrators, and kept unsealed.
 */
// The bug behind these rows: a name without separators.
import t from 'tap'
import { isCredentialName } from '../../lib/base/secrets.ts'

const CREDENTIALS =
  'key x-api-key apikey X-APIKEY accesskey access_key secretkey subscriptionkey Ocp-Apim-Subscription-Key accesstoken token ' +
  'x-auth-token clientsecret secret password passwd signature sig x-sig auth x-auth oauth authorization ' +
  'proxyauthorization credential credentials cookie set-cookie jwt'
const OTHERS =
  'accept content-type api-version region project max_tokens keyword x-config bypass author tokens-per-minute'

for (const name of CREDENTIALS.split(' ')) t.ok(isCredentialName(name), name)
for (const name of OTHERS.split(' ')) t.notOk(isCredentialName(name), name)
