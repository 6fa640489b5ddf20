/** Certificates of authorities and of keys, made by openssl: Node can read certificates, and cannot make any. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export interface Authority {
  cert: string
  key: string
}

interface Wanted {
  /** As openssl writes names: `/C=CN/CN=name`. */
  subject: string
  /** The private key of the certificate, as PEM. */
  key: string
  /** Who signs it. Default: itself. */
  by?: Authority
  ca?: boolean
  /** Default: one by chance. */
  serial?: string
  hash?: string
  days?: number
}

/** Returns the certificate as PEM. It is valid from now on. */
export function certificateOf({ subject, key, by, ca = false, serial, hash = 'sha256', days = 3_650 }: Wanted): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'gateway-certificates-'))
  const file = (name: string, text: string): string => {
    const at = path.join(dir, name)
    writeFileSync(at, text)
    return at
  }
  try {
    const own = file('own.key', key)
    const request = path.join(dir, 'request.pem')
    const digest = `-${hash}`
    run(['req', '-new', digest, '-utf8', '-subj', subject, '-key', own, '-out', request])
    const signer =
      by === undefined
        ? ['-signkey', own]
        : ['-CA', file('by.pem', by.cert), '-CAkey', file('by.key', by.key), '-CAcreateserial']
    const cert = path.join(dir, 'cert.pem')
    const extensions = file('extensions', `basicConstraints=CA:${ca ? 'TRUE' : 'FALSE'}\n`)
    const number = serial === undefined ? [] : ['-set_serial', serial]
    const about = ['-in', request, '-days', String(days), '-extfile', extensions, digest, ...number]
    run(['x509', '-req', ...about, ...signer, '-out', cert])
    return readFileSync(cert, 'utf8')
  } finally {
    rmSync(dir, { recursive: true })
  }
}

function run(args: string[]): void {
  try {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (cause) {
    throw new Error('openssl is needed to make a certificate: install it', { cause })
  }
}
