/** Certificates as they stand in texts of the config: one or several in PEM, one after the other. */
import { X509Certificate } from 'node:crypto'

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const MOST = 20

/** In the order of the text. Empty when it has none, too many, one that cannot be read, or a private key. */
export function certificatesIn(pem: string): X509Certificate[] {
  const found = pem.match(PEM) ?? []
  if (found.length > MOST || pem.includes('PRIVATE KEY')) return []
  try {
    return found.map(one => new X509Certificate(one))
  } catch {
    return []
  }
}

/** How many bits the RSA key of a certificate has; 0 = it has another kind of key. */
export function rsaBits(certificate: X509Certificate): number {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = certificate.publicKey
    return asymmetricKeyType === 'rsa' ? (asymmetricKeyDetails?.modulusLength ?? 0) : 0
  } catch {
    return 0 // a kind that this build does not know, such as SM2
  }
}

/** Whether one of `roots` has signed `certificate`, directly or through some of `between`. Says nothing about times. */
export function leadsTo(
  roots: readonly X509Certificate[],
  certificate: X509Certificate,
  between: readonly X509Certificate[],
): boolean {
  let at: X509Certificate | undefined = certificate
  for (let step = 0; at !== undefined && step <= between.length; step++) {
    const signed: X509Certificate = at
    if (roots.some(root => hasSigned(root, signed))) return true
    at = between.find(one => hasSigned(one, signed))
  }
  return false
}

function hasSigned(authority: X509Certificate, certificate: X509Certificate): boolean {
  try {
    return authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
  } catch {
    return false // as in rsaBits
  }
}

/** `1.2.840.113549.1.1`, which the identifiers of all signatures by RSA begin with, as DER. */
const RSA = Buffer.from('2a864886f70d0101', 'hex')

/** Whether an RSA key has signed it. */
export function isSignedByRsa({ raw }: X509Certificate): boolean {
  // A certificate is a sequence of what is signed, the algorithm (a sequence that begins with its identifier), and the signature.
  const signed = element(raw, element(raw, 0).from)
  const identifier = element(raw, element(raw, signed.until).from)
  return raw.subarray(identifier.from, identifier.until).indexOf(RSA) === 0
}

/** Where the content of the DER element at `at` begins and ends. */
function element(der: Buffer, at: number): { from: number; until: number } {
  const first = der[at + 1] as number
  const more = first < 0x80 ? 0 : first - 0x80
  const from = at + 2 + more
  return { from, until: from + (more === 0 ? first : der.readUIntBE(at + 2, more)) }
}
