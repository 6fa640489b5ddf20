/**
 * Passkeys: the browser asks its person for one, or makes one, with what the API gives it. Browsers do that on pages that come by https
 * from the name of a host, or from this machine as `localhost`; those of before 2025 cannot read what the API gives.
 */
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

const ADDRESS_OF_A_MACHINE = /^[\d.]+$|^\[/

/** Whether this browser has passkeys on this page. */
export const passkeysWork = (): boolean =>
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  !ADDRESS_OF_A_MACHINE.test(location.hostname)

/** What the browser says to the reader in its own words is told in ours, too. */
function refusalOf(error: unknown): never {
  const name = error instanceof DOMException ? error.name : ''
  if (name === 'InvalidStateError') throw new Refused(0, 'conflict', w.there())
  if (name === 'SecurityError') throw new Refused(0, 'conflict', w.elsewhere())
  throw new Refused(0, 'conflict', w.cancelled())
}

const jsonOf = (credential: Credential | null): object => (credential as PublicKeyCredential).toJSON()

/** `path`: the call that gives the challenge. `more`: such as that the browser offers passkeys where an e-mail is entered. */
export async function passkeyFor(
  path: string,
  body: object = {},
  more: CredentialRequestOptions = {},
): Promise<object> {
  const asked = await askOnce<PublicKeyCredentialRequestOptionsJSON>('POST', path, body)
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(asked)
  return navigator.credentials.get({ ...more, publicKey }).then(jsonOf, refusalOf)
}

export function newPasskey(asked: PublicKeyCredentialCreationOptionsJSON): Promise<object> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked)
  return navigator.credentials.create({ publicKey }).then(jsonOf, refusalOf)
}
