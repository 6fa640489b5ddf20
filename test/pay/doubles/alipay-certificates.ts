/** The certificates of the double of Alipay, laid out in files as Alipay's are; made once in a run, for keys of that run. */
import { generateKeyPairSync } from 'node:crypto'
import type { AlipayFiles } from '../../../tools/simulator/pay/alipay.ts'
import { keyPair } from '../../../tools/simulator/pay/keys.ts'
import { type Authority, certificateOf } from '../../support/certificates.ts'

const OF = '/C=CN/O=Test Financial/OU=Certification Authority/CN=Test Financial Certification Authority'

let authorities: { roots: string; between: Authority } | null = null

function authority(): NonNullable<typeof authorities> {
  if (authorities !== null) return authorities
  const [rootKey, betweenKey] = [keyPair().privateKey, keyPair().privateKey]
  const root = certificateOf({ subject: `${OF} R1`, key: rootKey, ca: true })
  const by = { cert: root, key: rootKey }
  const between = certificateOf({ subject: `${OF} Class 2 R1`, key: betweenKey, by, ca: true })
  // Alipay's file of roots also has some that no RSA key has signed.
  const curve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  const other = curve.export({ type: 'pkcs8', format: 'pem' }) as string
  const roots = `${certificateOf({ subject: `${OF} E1`, key: other, ca: true })}\n${root}`
  authorities = { roots, between: { cert: between, key: betweenKey } }
  return authorities
}

/** `app`, `alipay`: their private keys. */
export function alipayFiles(app: string, alipay: string): AlipayFiles {
  const { roots, between } = authority()
  const of = (subject: string, key: string): string => certificateOf({ subject, key, by: between })
  return {
    app_cert: of('/C=CN/O=某某公司/OU=Alipay/CN=2088000000000001-2021000000000001', app),
    alipay_cert: `${of('/C=CN/O=某某公司/OU=Alipay/CN=支付宝(中国)网络技术有限公司-2088000000000001', alipay)}${between.cert}`,
    alipay_root_cert: roots,
  }
}
