/**
 * The keys between Alipay and us: ours, which signs, and Alipay's, which verifies. In certificate mode both sides name them
 * by the serial numbers of certificates, which Alipay computes in a way of its own.
 */
import { createHash, type X509Certificate } from 'node:crypto'
import { invariant } from '../../base/assert.ts'
import { certificatesIn, isSignedByRsa } from '../../config/certificates.ts'
import type { AlipayConfig } from '../../config/pay-schema.ts'
import type { Validity } from '../method.ts'

export interface AlipayKeys {
  /** Ours, as PEM. */
  privateKey: string
  /** Alipay's, as PEM. */
  publicKey: string
  /** null = certificate mode is off. */
  serials: Serials | null
}

/** Our certificate, Alipay's, and Alipay's roots. */
export interface Serials {
  app: string
  alipay: string
  root: string
}

type Configured = Pick<
  AlipayConfig,
  'private_key' | 'alipay_public_key' | 'app_cert' | 'alipay_cert' | 'alipay_root_cert'
>

/** `validity`: when our certificate and Alipay's are both valid; null = certificate mode is off. */
export function alipayKeys(config: Configured): { keys: AlipayKeys; validity: Validity | null } {
  const { private_key: privateKey, alipay_public_key: publicKey } = config
  if (publicKey !== undefined) return { keys: { privateKey, publicKey, serials: null }, validity: null }
  const [app] = certificatesIn(config.app_cert ?? '')
  const [alipay] = certificatesIn(config.alipay_cert ?? '')
  const roots = certificatesIn(config.alipay_root_cert ?? '')
  invariant(app !== undefined && alipay !== undefined, 'the config has Alipay’s public key or certificates')
  return {
    keys: {
      privateKey,
      publicKey: alipay.publicKey.export({ type: 'spki', format: 'pem' }) as string,
      serials: { app: serialOf(app), alipay: serialOf(alipay), root: rootSerialOf(roots) },
    },
    validity: {
      fromMs: Math.max(app.validFromDate.getTime(), alipay.validFromDate.getTime()),
      untilMs: Math.min(app.validToDate.getTime(), alipay.validToDate.getTime()),
    },
  }
}

/** MD5 of the issuer's name, its last part first, and the certificate's number in decimal. It names, and protects nothing. */
export function serialOf({ issuer, serialNumber }: X509Certificate): string {
  const name = issuer.split('\n').reverse().join(',').replace(/\\(.)/g, '$1')
  return createHash('md5')
    .update(`${name}${BigInt(`0x${serialNumber}`)}`)
    .digest('hex')
}

/** Roots with other algorithms than RSA have no part in it. */
export const rootSerialOf = (roots: readonly X509Certificate[]): string =>
  roots.filter(isSignedByRsa).map(serialOf).join('_')
