/** The page of a time-out, as a content delivery network shows it, with the direct address as a way out. */
export function cdnTimeoutPage(requestId: string, directUrl: string): string {
  const safe = directUrl.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)
  return `<!DOCTYPE html>
<html lang="zh"><head><meta charset="utf-8"><title>524: A timeout occurred</title></head>
<body><h1>524: A timeout occurred</h1>
<p>上游在规定时间内没有返回任何数据。请使用流式输出,或改用直连地址 <code>${safe}</code>。</p>
<p>No response data arrived in time. Use streaming, or the direct address <code>${safe}</code>.</p>
<p>request id: ${requestId}</p></body></html>
`
}
