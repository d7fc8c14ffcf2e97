;;; sould-language.el --- What language servers know, for agents  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The tools of agents that the user's language servers answer, by eglot; definitions and references also by whatever else finds
;; them here, which is what `xref-find-definitions' asks.  What is to be written is said, and not written.

;;; Code:

(require 'xref)
(require 'sould-call)

(defconst sould-language--definition
  '(("definition" . :textDocument/definition) ("declaration" . :textDocument/declaration)
    ("type" . :textDocument/typeDefinition) ("implementation" . :textDocument/implementation))
  "What servers are asked, by the kind that is wanted.")

(defconst sould-language--kinds
  ["file" "module" "namespace" "package" "class" "method" "property" "field" "constructor" "enum" "interface" "function"
   "variable" "constant" "string" "number" "boolean" "array" "object" "key" "null" "enum_member" "struct" "event"
   "operator" "type_parameter"]
  "The kinds of symbols, the one that servers call 1 first.")

;;;; Asking

(defun sould-language--buffer (call)
  "The buffer of the file of CALL, which has the text that the call is about."
  (let ((buffer (sould-call-buffer call (sould-call-get call :file))))
    (with-current-buffer buffer
      (sould-call-check call))
    buffer))

(defun sould-language--ask-at (call method more then)
  "Ask the server for METHOD at the place of CALL, with MORE parameters.
THEN takes the result and how the server counts."
  (let* ((buffer (sould-language--buffer call))
         (counting (sould-call-counting buffer)))
    (sould-call-ask call buffer method
                    (append (list :textDocument (sould-call-document buffer)
                                  :position (sould-call-position call buffer))
                            more)
                    (lambda (result) (funcall then result counting)))))

(defun sould-language--items (result)
  "RESULT, which is one thing, many or none, as a list."
  (if (keywordp (car-safe result)) (list result) (append result nil)))

;;;; Places

(defun sould-language--locations (result counting &optional bodies)
  "The places in files that RESULT of a server names, each once, in order.
COUNTING is how the server counts; with BODIES, all that is defined
there is told."
  (let (found)
    (dolist (each (sould-language--items result))
      (let ((file (sould-call-file (or (plist-get each :uri) (plist-get each :targetUri) "")))
            (range (or (plist-get each :range) (plist-get each :targetSelectionRange)))
            (whole (and bodies (or (plist-get each :targetRange) (plist-get each :range)))))
        (when (and file (file-readable-p file))
          (sould-call-with-text file
            (cl-pushnew (append (list :file file :range (sould-call-span range counting)
                                      :preview (sould-language--line range))
                                (when whole
                                  (list :body (sould-language--text whole counting))))
                        found :test #'equal)))))
    (nreverse found)))

(defun sould-language--line (range)
  "The line of the current buffer where RANGE begins."
  (goto-char (point-min))
  (forward-line (plist-get (plist-get range :start) :line))
  (string-trim (buffer-substring-no-properties (point) (line-end-position))))

(defun sould-language--text (range counting)
  "The text of RANGE, of a server that counts by COUNTING, in the current buffer."
  (let ((region (sould-call-region range counting)))
    (buffer-substring-no-properties (car region) (cdr region))))

(defun sould-language-definition (call)
  "Say where the symbol at the place of CALL is defined."
  (let ((kind (or (sould-call-get call :kind) "definition")))
    (sould-language--find
     call (cdr (assoc kind sould-language--definition)) nil
     (and (equal kind "definition") #'xref-backend-definitions)
     (lambda (found) (sould-call-return call (list :locations (vconcat found)))))))

(defun sould-language-references (call)
  "Say where the symbol at the place of CALL is used."
  (let ((declaration (sould-call-get call :includeDeclaration)))
    (sould-language--find
     call :textDocument/references '(:context (:includeDeclaration t))
     #'xref-backend-references
     (lambda (found)
       (if declaration
           (sould-language--group call found)
         (sould-language--without-declaration call found))))))

(defun sould-language--find (call method more xref then)
  "Find the places that CALL is about, in the user's way; THEN takes them.
METHOD, with MORE parameters, is what a server is asked, XREF what others are."
  (let ((buffer (sould-language--buffer call)))
    (cond ((sould-call-server buffer)
           (sould-language--ask-at call method more
                                   (lambda (result counting)
                                     (funcall then (sould-language--locations
                                                    result counting (sould-call-get call :includeBody))))))
          (xref (funcall then (sould-language--xref call buffer xref)))
          (t (sould-call-fail "not_supported" "Emacs has no language server for the file.")))))

(defun sould-language--without-declaration (call found)
  "Answer CALL by those that are FOUND and no definition.
Left to servers, some list it all the same, and some leave out the place
that they were asked about."
  (sould-language--find
   call :textDocument/definition nil #'xref-backend-definitions
   (lambda (declared)
     (let ((places (mapcar #'sould-language--start declared)))
       (sould-language--group call (seq-remove (lambda (each) (member (sould-language--start each) places)) found))))))

(defun sould-language--start (location)
  "Where LOCATION begins."
  (list (plist-get location :file) (plist-get (plist-get location :range) :start)))

(defun sould-language--group (call found)
  "Answer CALL by the references that are FOUND, file by file."
  (let* ((shown (seq-take found (or (sould-call-get call :limit) 100)))
         (files (seq-group-by (lambda (each) (plist-get each :file)) shown)))
    (sould-call-return
     call (list :total (length found)
                :groups (vconcat (mapcar (lambda (group)
                                           (list :file (car group)
                                                 :hits (vconcat (mapcar #'sould-language--hit (cdr group)))))
                                         files))))))

(defun sould-language--hit (location)
  "LOCATION as a line with a reference."
  (let ((start (plist-get (plist-get location :range) :start)))
    (list :line (plist-get start :line) :column (plist-get start :column) :text (plist-get location :preview))))

;;;; Other ways to find

(defun sould-language--xref (call buffer function)
  "The places that FUNCTION of xref has for the place of CALL in BUFFER.
Its user's first key ends the search."
  (with-current-buffer buffer
    (save-excursion
      (save-restriction
        (widen)
        (sould-call-go (sould-call-at call))
        (let* ((backend (xref-find-backend))
               (name (and backend (not (eq backend 'etags)) (xref-backend-identifier-at-point backend)))
               (kept (buffer-list)))
          (unless name
            (sould-call-fail "not_supported" "Emacs has no language server for the file."))
          (let ((found (while-no-input (list (funcall function backend name)))))
            (unless (consp found)
              (sould-call-fail "busy" "The user is typing."))
            (unwind-protect
                (delete-dups (delq nil (mapcar #'sould-language--xref-place (car found))))
              (sould-language--forget kept))))))))

(defun sould-language--xref-place (item)
  "The place that ITEM of xref is about; nil when it is in no file."
  (when-let ((marker (ignore-errors (xref-location-marker (xref-item-location item))))
             (file (buffer-file-name (marker-buffer marker))))
    (with-current-buffer (marker-buffer marker)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char marker)
          (list :file (file-truename file) :range (sould-window-span (point) (point))
                :preview (string-trim (buffer-substring-no-properties (line-beginning-position) (line-end-position)))))))))

(defun sould-language--forget (kept)
  "Close buffers of files that a search opened, and that are not KEPT."
  (dolist (buffer (buffer-list))
    (unless (or (memq buffer kept) (not (buffer-file-name buffer)) (buffer-modified-p buffer)
                (get-buffer-window buffer t))
      (kill-buffer buffer))))

;;;; What is said of a place

(defun sould-language-hover (call)
  "Say what the server knows of the place of CALL."
  (sould-language--ask-at
   call :textDocument/hover nil
   (lambda (result _counting)
     (let ((text (string-trim (sould-language--markdown (plist-get result :contents)))))
       (when (string-empty-p text)
         (sould-call-fail "not_found" "The language server has nothing to say about this place."))
       (sould-call-return call (list :markdown text))))))

(defun sould-language--markdown (contents)
  "CONTENTS of a hover as Markdown."
  (cond ((stringp contents) contents)
        ((and (keywordp (car-safe contents)) (plist-get contents :language))
         (format "```%s\n%s\n```" (plist-get contents :language) (plist-get contents :value)))
        ((keywordp (car-safe contents)) (plist-get contents :value))
        (t (mapconcat #'sould-language--markdown contents "\n\n"))))

;;;; Symbols

(defun sould-language-symbols (call)
  "List the symbols of the file of CALL, or those of the project with a name."
  (let ((file (or (sould-call-get call :file) "")))
    (if (string-empty-p file)
        (sould-language--project-symbols call)
      (let ((buffer (sould-call-buffer call file)))
        (sould-call-ask
         call buffer :textDocument/documentSymbol (list :textDocument (sould-call-document buffer))
         (let ((counting (sould-call-counting buffer)))
           (lambda (result)
             (sould-call-with-text file
               (sould-call-return
                call (list :symbols (vconcat (sould-language--outline call file counting (append result nil) nil
                                                                      (or (sould-call-get call :depth) 1)))))))))))))

(defun sould-language--outline (call file counting given above depth)
  "The symbols GIVEN of FILE, below those named ABOVE, down to DEPTH.
COUNTING is how their server counts; CALL says what of them is wanted."
  (mapcan
   (lambda (each)
     (let* ((container (or (plist-get each :containerName) ""))
            (names (append above (unless (string-empty-p container) (list container)) (list (plist-get each :name))))
            (kinds (sould-call-get call :kinds))
            (shown (sould-language--symbol call file counting each names)))
       (append (when (or (null kinds) (member (plist-get shown :kind) kinds))
                 (list shown))
               (when (> depth 0)
                 (sould-language--outline call file counting (append (plist-get each :children) nil) names
                                          (1- depth))))))
   given))

(defun sould-language--symbol (call file counting given names)
  "The symbol GIVEN of FILE, which is current, with all its NAMES.
COUNTING is how its server counts; CALL says whether its text is wanted."
  (let ((range (or (plist-get given :range) (plist-get (plist-get given :location) :range)))
        (own (plist-get given :selectionRange))
        (kind (1- (or (plist-get given :kind) 13)))
        (detail (plist-get given :detail)))
    (append (list :name (plist-get given :name) :namePath (string-join names "/") :file file
                  :kind (if (< -1 kind (length sould-language--kinds)) (aref sould-language--kinds kind) "unknown")
                  :range (sould-call-span range counting))
            (when own (list :selectionRange (sould-call-span own counting)))
            (when (stringp detail) (list :signature detail))
            (when (sould-call-get call :includeBody)
              (list :body (sould-language--text range counting))))))

(defun sould-language--project-symbols (call)
  "Answer CALL by the symbols that a server of its project has."
  (let* ((root (file-name-as-directory (sould-call-root call)))
         (buffer (or (seq-find (lambda (each)
                                 (and (buffer-file-name each)
                                      (string-prefix-p root (file-truename (buffer-file-name each)))
                                      (sould-call-server each)))
                               (buffer-list))
                     (sould-call-fail "not_supported" "Emacs has no language server for the project.")))
         (counting (sould-call-counting buffer)))
    (sould-call-ask
     call buffer :workspace/symbol (list :query (or (sould-call-get call :query) ""))
     (lambda (result)
       (sould-call-return
        call (list :symbols (vconcat (seq-take (mapcan (lambda (each) (sould-language--found call each counting)) (append result nil))
                                               (or (sould-call-get call :limit) 100)))))))))

(defun sould-language--found (call given counting)
  "The symbol GIVEN that was found in the project of CALL, in a list.
COUNTING is how its server counts."
  (let* ((location (plist-get given :location))
         (file (sould-call-file (or (plist-get location :uri) ""))))
    (when (and file (plist-get location :range) (file-readable-p file))
      (sould-call-with-text file
        (sould-language--outline call file counting (list given) nil 0)))))

;;;; What is to be written

(defun sould-language--edits (file given counting)
  "The edits GIVEN for FILE by a server that counts by COUNTING."
  (sould-call-with-text file
    (list :file file :digest (sould-call-digest-of-buffer)
          :edits (vconcat (mapcar (lambda (each)
                                    (list :range (sould-call-span (plist-get each :range) counting)
                                          :newText (plist-get each :newText)))
                                  given)))))

(defun sould-language--workspace-edits (edit counting)
  "EDIT of a workspace, by a server that counts by COUNTING, file by file."
  (let ((all (if-let ((changes (append (plist-get edit :documentChanges) nil)))
                 (cl-loop for each in changes
                          when (plist-get each :kind)
                          do (sould-call-fail "not_supported" "This would also create, move or delete files.")
                          append (sould-language--of (plist-get (plist-get each :textDocument) :uri) (plist-get each :edits)))
               (cl-loop for (uri edits) on (plist-get edit :changes) by #'cddr
                        append (sould-language--of (substring (symbol-name uri) 1) edits)))))
    (cl-loop for (uri . edits) in (seq-group-by #'car all)
             collect (sould-language--edits
                      (or (sould-call-file uri) (sould-call-fail "not_supported" "%s is no file on the disk." uri))
                      (mapcar #'cdr edits) counting))))

(defun sould-language--of (uri edits)
  "EDITS, each behind the URI that it is for."
  (mapcar (lambda (each) (cons uri each)) edits))

(defun sould-language-rename (call)
  "Say what renaming the symbol at the place of CALL comes to."
  (sould-language--ask-at
   call :textDocument/rename (list :newName (sould-call-get call :newName))
   (lambda (result counting)
     (let ((edits (sould-language--workspace-edits result counting)))
       (unless edits
         (sould-call-fail "not_found" "The language server finds nothing to be renamed at this place."))
       (sould-call-return call nil edits)))))

(defun sould-language-format (call)
  "Say what formatting the file of CALL, or some lines of it, comes to."
  (when (sould-call-get call :organizeImports)
    (sould-call-fail "not_supported" "Emacs formats without organizing imports."))
  (let* ((file (sould-call-get call :file))
         (buffer (sould-call-buffer call file))
         (first (sould-call-get call :startLine))
         (counting (sould-call-counting buffer))
         (options (with-current-buffer buffer
                    (list :tabSize tab-width :insertSpaces (if indent-tabs-mode :json-false t)))))
    (sould-call-ask
     call buffer (if first :textDocument/rangeFormatting :textDocument/formatting)
     (append (list :textDocument (sould-call-document buffer) :options options)
             (when first
               (list :range (sould-language--lines buffer first (sould-call-get call :endLine)))))
     (lambda (result)
       (let ((edits (append result nil)))
         (sould-call-return call nil (when edits (list (sould-language--edits file edits counting)))))))))

(defun sould-language--lines (buffer first last)
  "The lines of BUFFER from FIRST to LAST, which may be nil, as a range."
  (with-current-buffer buffer
    (list :start (list :line (1- first) :character 0)
          :end (list :line (min (or last most-positive-fixnum) (line-number-at-pos (point-max) t)) :character 0))))

(provide 'sould-language)
;;; sould-language.el ends here
