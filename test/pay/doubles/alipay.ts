/** The simulated Alipay of tests: the functions of the official SDK verify what it is asked, and name its certificates. */
import { AlipaySdk } from 'alipay-sdk'
import { Alipay, ALIPAY_KEYS, type AlipayFiles, type AlipayVerifier } from '../../../tools/simulator/pay/alipay.ts'
import { alipayFiles } from './alipay-certificates.ts'

export type { Fault } from '../../../tools/simulator/pay/alipay.ts'
export { keyPair } from '../../../tools/simulator/pay/keys.ts'

let files: AlipayFiles | null = null

/** As the official SDK has them. */
export function serialsOf({ app_cert, alipay_cert, alipay_root_cert }: AlipayFiles) {
  const contents = {
    appCertContent: app_cert,
    alipayPublicCertContent: alipay_cert,
    alipayRootCertContent: alipay_root_cert,
  }
  const { config } = new AlipaySdk({ appId: 'x', privateKey: 'x', ...contents })
  return { app: config.appCertSn, alipay: config.alipayCertSn, root: config.alipayRootCertSn } as Record<
    'app' | 'alipay' | 'root',
    string
  >
}

/** With the application's public key, it verifies what the application signed. */
function sdkVerifier(): AlipayVerifier {
  const { publicKey, privateKey } = ALIPAY_KEYS.app
  const sdk = new AlipaySdk({ appId: 'x', privateKey, alipayPublicKey: publicKey, keyType: 'PKCS8' })
  return {
    rsaCheck: (text, signature) => sdk.rsaCheck(text, signature),
    checkNotifySignV2: fields => sdk.checkNotifySignV2(fields),
  }
}

export class AlipayDouble extends Alipay {
  static async open(t: { teardown(fn: () => unknown): void }, certificates = false): Promise<AlipayDouble> {
    const { app, alipay } = ALIPAY_KEYS
    files ??= certificates ? alipayFiles(app.privateKey, alipay.privateKey) : null
    const named = certificates && files !== null ? { files, serials: serialsOf(files) } : null
    const double = new AlipayDouble({ verifier: sdkVerifier(), certificates: named })
    await double.listen(t)
    return double
  }
}
