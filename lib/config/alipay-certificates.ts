/**
 * The settings of Alipay's certificate mode, in which three files take the place of Alipay's public key: the config has the one
 * or the other, and all of it. Whether certificates are valid today is not checked here: one that ends must not keep a gateway
 * from starting.
 */
import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto'
import type { z } from 'zod'
import { certificatesIn, isSignedByRsa, leadsTo, rsaBits } from './certificates.ts'
import * as kind from './scalars.ts'

const LEAST_KEY_BITS = 2048

/** `fits` is asked about all certificates of the text. Problems do not show it, because it may be a private key by mistake. */
const certificates = (expected: string, fits: (found: X509Certificate[]) => boolean) =>
  kind
    .scalar(
      expected,
      { type: 'string' },
      value => {
        const found = typeof value === 'string' ? certificatesIn(value) : []
        return found.length > 0 && fits(found) ? (value as string) : undefined
      },
      true,
    )
    .optional()

/** The first certificate is the one that is meant, and is no authority's; those after it have signed it. */
const ofKey = certificates(
  'the certificate of an RSA key of at least 2048 bits, and not of an authority, as PEM',
  found => {
    const [first] = found as [X509Certificate]
    return !first.ca && rsaBits(first) >= LEAST_KEY_BITS
  },
)

const INSTEAD = 'Certificate mode, in place of `alipay_public_key`:'

export const certificateFields = {
  app_cert: ofKey.meta({
    description: `${INSTEAD} the application’s certificate (\`appCertPublicKey_….crt\`), as PEM.`,
  }),
  alipay_cert: ofKey.meta({
    description: `${INSTEAD} Alipay’s certificate (\`alipayCertPublicKey_RSA2.crt\`), with those that signed it.`,
  }),
  alipay_root_cert: certificates(
    'certificates of authorities, at least one of them signed by RSA, as PEM',
    found => found.every(one => one.ca) && found.some(isSignedByRsa),
  ).meta({ description: `${INSTEAD} Alipay’s root certificates (\`alipayRootCert.crt\`).` }),
}

const NAMES = ['app_cert', 'alipay_cert', 'alipay_root_cert'] as const

interface Form extends Partial<Record<(typeof NAMES)[number] | 'alipay_public_key', string | undefined>> {
  private_key: string
  sandbox: boolean
}

export function checkAlipayKeys(form: Form, context: z.RefinementCtx): void {
  const wrong = (field: string, expected: string) =>
    context.addIssue({ code: 'custom', path: [field], ...kind.problem(expected, true) })
  const missing = NAMES.filter(name => form[name] === undefined)
  const own = createPublicKey(form.private_key)
  if (missing.length === NAMES.length) {
    const { alipay_public_key: key } = form
    if (key === undefined) wrong('alipay_public_key', `Alipay’s public key, or all of ${ALL} (certificate mode)`)
    // Both keys are called "public key" where they are copied from. With our own one, every message would be refused.
    else if (createPublicKey(key).equals(own))
      wrong('alipay_public_key', 'Alipay’s public key, not the application’s own one')
    return
  }
  if (form.alipay_public_key !== undefined)
    wrong('alipay_public_key', `nothing beside ${ALL}: in certificate mode, Alipay’s key is that of \`alipay_cert\``)
  for (const name of missing) wrong(name, `a file: certificate mode needs all of ${ALL}`)
  if (missing.length === 0)
    checkCertificates(form as Required<Form> & Record<(typeof NAMES)[number], string>, own, wrong)
}

const ALL = '`app_cert`, `alipay_cert` and `alipay_root_cert`'

function checkCertificates(
  { app_cert, alipay_cert, alipay_root_cert, sandbox }: Record<(typeof NAMES)[number], string> & { sandbox: boolean },
  own: KeyObject,
  wrong: (field: string, expected: string) => void,
): void {
  const [app] = certificatesIn(app_cert) as [X509Certificate]
  const [alipay, ...between] = certificatesIn(alipay_cert) as [X509Certificate, ...X509Certificate[]]
  if (!app.publicKey.equals(own)) wrong('app_cert', 'the certificate of `private_key`, which is another key')
  if (alipay.publicKey.equals(own)) wrong('alipay_cert', 'Alipay’s certificate, not the application’s own one')
  // Alipay's test environment signs with an authority that its own file of roots does not have.
  else if (!sandbox && !leadsTo(certificatesIn(alipay_root_cert), alipay, between))
    wrong(
      'alipay_cert',
      'a certificate that one of `alipay_root_cert` has signed, directly or through others in this file: use the whole file that Alipay gives',
    )
}
