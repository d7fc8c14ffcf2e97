/** Pictures that were pasted or dropped, as they are sent. */
import * as l10n from "@vscode/l10n";
import type { Block } from "../session/updates";

/** Bytes of one picture: what models take. */
const LARGEST = 10 * 1024 * 1024;

export async function imagesOf(files: FileList | undefined): Promise<readonly Block[]> {
  const pictures = [...(files ?? [])].filter((file) => file.type.startsWith("image/") && file.size <= LARGEST);
  return Promise.all(
    pictures.map(async (file) => ({ type: "image" as const, data: await base64(file), mimeType: file.type })),
  );
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      resolve(typeof reader.result === "string" ? reader.result.replace(/^[^,]*,/, "") : "");
    };
    reader.onerror = () => {
      reject(new Error(l10n.t("{0} could not be read.", file.name)));
    };
    reader.readAsDataURL(file);
  });
}
