/**
 * How the bodies of a protocol's requests are read. A body passes through a scan while it arrives and is never kept whole
 * for it: what the scan finds are its facts. A protocol with bodies of JSON takes `jsonBody`; another form (a multipart
 * form, say) brings its own.
 */
import type { Edit } from './edit.ts'
import type { Facts } from './facts.ts'

/** Reads one body. Memory is bounded whatever a client sends, and nothing is thrown. */
export interface BodyScan {
  feed(chunk: Buffer): void
  /** null = the body is not of this form. */
  end(): Facts | null
}

export interface BodyForm {
  /** Whether a body of this content type is read here as everybody else reads it; other ones are refused. */
  reads(contentType: string | undefined): boolean
  scan(contentType: string | undefined): BodyScan
  /** The content type that goes upstream for what the client sent. */
  typeUpstream(contentType: string): string
  /** The model under the name by which the upstream knows it. */
  mapModel(facts: Facts, upstreamName: string): Edit
}
