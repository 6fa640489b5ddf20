/** Passkeys: the browser asks its person for one, or makes one, with what the API gives it. Loaded when somebody wants that. */
import { askOnce, Refused } from '../base/ask.ts'
import { words } from '../base/words.ts'

const w = words({
  cancelled: ['没有使用通行密钥：操作被取消或已超时', 'No passkey was used: it was cancelled, or took too long'],
  there: ['此设备上已有您的通行密钥', 'This device has a passkey of yours already'],
  elsewhere: [
    '浏览器拒绝在此地址使用通行密钥，请使用网关配置的地址',
    'The browser refuses passkeys at this address: open the console at the one that its config names',
  ],
})

/** What the browser says to the reader in its own words is told in ours, too. */
function refusalOf(error: unknown): never {
  const name = error instanceof DOMException ? error.name : ''
  if (name === 'InvalidStateError') throw new Refused(0, 'conflict', w.there())
  if (name === 'SecurityError') throw new Refused(0, 'conflict', w.elsewhere())
  throw new Refused(0, 'conflict', w.cancelled())
}

const jsonOf = (credential: Credential | null): object => (credential as PublicKeyCredential).toJSON()

/** What the browser offers beside the e-mails that it knows; it asks for one passkey at a time. */
let offer: AbortController | null = null

const optionsOf = async (path: string, body: object): Promise<PublicKeyCredentialRequestOptions> =>
  PublicKeyCredential.parseRequestOptionsFromJSON(await askOnce('POST', path, body))

/** `path`: the call that gives the challenge. */
export async function passkeyFor(path: string, body: object = {}): Promise<object> {
  const publicKey = await optionsOf(path, body)
  offer?.abort()
  offer = null
  return navigator.credentials.get({ publicKey }).then(jsonOf, refusalOf)
}

/** Shorter than a challenge works. */
const OFFER_MS = 4 * 60_000

/** The passkey that the reader chose there; null = none was, and the browser offers none any more. */
export async function passkeyOffered(path: string): Promise<object | null> {
  if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null
  for (;;) {
    const publicKey = await optionsOf(path, {})
    const mine = new AbortController()
    offer = mine
    const end = setTimeout(() => mine.abort(), OFFER_MS)
    const asked = { publicKey, mediation: 'conditional', signal: mine.signal } as const
    const chosen = await navigator.credentials.get(asked).then(jsonOf, () => null)
    clearTimeout(end)
    if (chosen !== null || offer !== mine || !mine.signal.aborted) return chosen
  }
}

export function newPasskey(asked: PublicKeyCredentialCreationOptionsJSON): Promise<object> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked)
  return navigator.credentials.create({ publicKey }).then(jsonOf, refusalOf)
}
